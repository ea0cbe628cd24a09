# SPDX-License-Identifier: Apache-2.0
#
# Operators from all of PyTorch's libraries: cuDNN's recurrent nets, cuFFT, cuSOLVER, cuSPARSE, CUB's sorts and scans, random numbers. Each step
# is the NVTX range "step N"; prints sums.
import sys

import torch
import torch.nn as nn

torch.manual_seed(0)
dev = torch.device("cuda")
lstm = nn.LSTM(32, 64, num_layers=2, batch_first=True).to(dev)
gru = nn.GRU(64, 32, batch_first=True).to(dev)
words = nn.EmbeddingBag(100, 32, mode="sum").to(dev)
x = torch.randn(8, 20, 32, device=dev)
a = torch.randn(24, 24, device=dev, dtype=torch.float64)
a = a @ a.T + 24 * torch.eye(24, device=dev, dtype=torch.float64)
sparse = torch.sparse_coo_tensor(torch.randint(0, 64, (2, 300), device=dev), torch.randn(300, device=dev), (64, 64)).coalesce().to_sparse_csr()


def libraries(step):
    h, _ = lstm(x + step)
    h, _ = gru(h)
    yield "recurrent", h
    yield "fft", torch.fft.irfft(torch.fft.rfft(x, dim=1) * 0.5, n=20, dim=1)
    yield "cholesky", torch.linalg.cholesky(a)
    yield "solve", torch.linalg.solve(a, a[:, :3])
    yield "eigenvalues", torch.linalg.eigvalsh(a)
    yield "svd", torch.linalg.svdvals(a)
    yield "sparse", sparse @ torch.ones(64, 4, device=dev)


def moves(step):
    n = torch.randint(0, 1000, (5000,), device=dev)
    yield "sort", torch.sort(n).values[::100]
    yield "unique", torch.unique(n).sum()[None]
    yield "scan", torch.cumsum(x.flatten(), 0)[-1:]
    yield "topk", torch.topk(x.flatten(), 50).values
    yield "histogram", torch.bincount(n, minlength=1000).max()[None]
    yield "where", (x > 1).nonzero().sum()[None]
    yield "bag", words(n[:200] % 100, torch.arange(0, 200, 20, device=dev))
    yield "median", x.median(dim=1).values
    yield "multinomial", torch.multinomial(torch.softmax(x[0], 1), 3, replacement=True)
    yield "permutation", torch.randperm(3000, device=dev)[:5]
    yield "interpolate", nn.functional.interpolate(x[None], scale_factor=2.0, mode="bilinear")


for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    torch.cuda.nvtx.range_push(f"step {step}")
    with torch.no_grad():
        for part in libraries, moves:
            print(f"step {step}", " ".join(f"{name} {value.double().sum().item():.6g}" for name, value in part(step)), flush=True)
    torch.cuda.nvtx.range_pop()
