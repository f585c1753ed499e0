"""How many buckets are on their way when the gradient of the first layer arrives, which backward computes last."""

import json

import minitorch
from minitorch import distributed, nn
from minitorch.nn.parallel import DistributedDataParallel

distributed.init_process_group(timeout=30)
model = nn.Sequential(*[nn.Linear(2, 2, bias=False) for _ in range(3)]).double()
sent = []
model._modules["0"].weight.value.register_hook(lambda grad: sent.append(network._reducer._sent))  # before the network's own hook
network = DistributedDataParallel(model, bucket_cap_mb=1e-6)
network(minitorch.ones((4, 2), minitorch.FastBackend)).sum().backward()
print(json.dumps(["sent when the first layer's gradient came", sent[0]]))
print(json.dumps(["buckets", len(network._reducer._buckets)]))
distributed.destroy_process_group()
