# SPDX-License-Identifier: Apache-2.0
"""CUDA IPC through torch.multiprocessing: a parent makes a tensor, a spawned child adds to it in place, the parent sees it."""
import sys

import torch
import torch.multiprocessing as mp


def child(inbox, outbox):
    t = inbox.get()
    t += 1
    torch.cuda.synchronize()
    outbox.put(float(t.sum()))
    inbox.get()  # the parent is done


if __name__ == "__main__":
    mp.set_start_method("spawn")
    inbox, outbox = mp.Queue(), mp.Queue()
    p = mp.Process(target=child, args=(inbox, outbox))
    p.start()
    t = torch.arange(1000, dtype=torch.float32, device="cuda")
    inbox.put(t)
    theirs = outbox.get()
    torch.cuda.synchronize()
    ours = float(t.sum())
    inbox.put(None)
    p.join()
    print(f"share: {ours} {theirs}")
    sys.exit(ours != 500500 or theirs != 500500 or p.exitcode != 0)
