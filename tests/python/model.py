# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program with Python functions that a stack must show: nested modules, a generator, a function of autograd's that runs on its own
thread, a hook, an optimiser. `model.py time N` prints the CPU time of the launching thread for one forward pass of 24 blocks instead."""
import sys
import time

import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad.mul(2)  # AT backward


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a, self.b = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))  # AT block


class Net(nn.Module):
    def __init__(self, n, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(n) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)  # AT net
        return Scale.apply(x)


def batches(n):
    while True:
        yield torch.randn(8, n, device='cuda')  # AT batches


def train(net, data, steps):
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = net(next(data)).square().mean()  # AT train
        loss.backward()  # AT loss
        optimiser.step()  # AT step
    torch.cuda.synchronize()
    return loss.item()


def timed(rounds):
    net, x = Net(64, 24).cuda(), torch.randn(8, 64, device='cuda')
    with torch.no_grad():
        for _ in range(20):
            net(x)
        torch.cuda.synchronize()
        times = []
        for _ in range(rounds):
            begin = time.thread_time_ns()
            net(x)
            times.append(time.thread_time_ns() - begin)
            torch.cuda.synchronize()
    print('ns per pass', sorted(times)[len(times) // 2])


def main():
    torch.manual_seed(1)
    if sys.argv[1:2] == ['time']:
        timed(int(sys.argv[2]))
    else:
        print(f'loss {train(Net(64, 3).cuda(), batches(64), 3):.4f}')


main()
