# SPDX-License-Identifier: Apache-2.0
#
# A small transformer decoding greedily with unmodified PyTorch, in bfloat16: what tests/real/check captures and
# replays. Each token is the NVTX range "token N".
import sys

import torch
import torch.nn as nn

tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.manual_seed(0)
dev = torch.device("cuda")
vocabulary, width = 1000, 256
embed = nn.Embedding(vocabulary, width)
layer = nn.TransformerEncoderLayer(width, 8, 1024, batch_first=True, norm_first=True)
body = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
head = nn.Linear(width, vocabulary)
model = nn.ModuleList([embed, body, head]).to(dev).to(torch.bfloat16).eval()
text = torch.randint(0, vocabulary, (1, 32), device=dev)
with torch.no_grad():
    for token in range(tokens):
        torch.cuda.nvtx.range_push(f"token {token}")
        n = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=dev, dtype=torch.bfloat16)
        logits = head(body(embed(text), mask=mask, is_causal=True)[:, -1])
        text = torch.cat([text, logits.argmax(-1, keepdim=True)], 1)
        torch.cuda.nvtx.range_pop()
print("text", text[0].tolist())
