"""Programs that write in place, as text: they run with this library and with PyTorch. Each computes `out` from leaves x and w."""

from typing import Any

NUMBERS = [[0.3, 0.7, 0.45], [0.62, 0.21, 0.83], [0.55, 0.36, 0.94]]
OTHERS = [[0.8, 0.25, 0.6], [0.4, 0.91, 0.33], [0.75, 0.52, 0.17]]

LEAVES = (("a", NUMBERS), ("b", OTHERS))

NEEDS_OF_ONE = {  # functions of a, by what backward needs as it was: a, the result (=), both, or nothing
    "=": """
        a.exp() a.exp2() a.sqrt() a.tanh() a.sigmoid() a.reciprocal() a.tan() a.expm1() a.rsqrt() a.relu() a.softmax(1) a.log_softmax(1)
        a.inverse() F.relu(a)""",
    "a": """
        a.log() a.sin() a.cos() a.asin() a.acos() a.atan() a.sinh() a.cosh() a.erf() a.log1p() a.asinh() a.atanh() a.erfc() a.log2()
        a.log10() a.square() a.abs() a.logit() a.nan_to_num() a.clamp(0.31,0.6) a.clamp(min=0.5) a**2 a**3 a**0.5 a.var() a.var(1)
        a.nansum() a.nanmean() a.quantile(0.4) a.cummax(0)[0] a.cummin(0)[0] a.gather(0,COLUMNS[:1]) a.masked_select(MASK) a.logdet()
        F.gelu(a) F.silu(a) F.elu(a) F.leaky_relu(a) F.softplus(a) F.hardtanh(a) F.hardswish(a) F.mish(a) F.logsigmoid(a) F.softsign(a)
        F.layer_norm(a,(3,)) F.max_pool1d(a,2) F.avg_pool1d(a,2) F.nll_loss(a,ROWS) F.multi_margin_loss(a,ROWS)
        F.max_pool3d(a.view(1,1,3,3),(1,2,2)) F.avg_pool2d(a.view(1,3,3),2) F.adaptive_max_pool1d(a,2) F.adaptive_avg_pool1d(a,2)
        F.adaptive_avg_pool2d(a[None],2) F.adaptive_avg_pool3d(a.view(1,1,3,3),(1,2,2)) F.adaptive_max_pool3d(a.view(1,1,3,3),(1,2,2))
        F.pad(a[None],(1,1),mode="reflect") F.pad(a[None],(1,1),mode="replicate") F.interpolate(a[None,None],size=(2,2),mode="area")
        a.take_along_dim(COLUMNS,0) F.batch_norm(a,None,None,training=True) F.group_norm(a,3) F.instance_norm(a[None])
        F.local_response_norm(a[None],2) F.normalize(a) F.rms_norm(a,(3,)) F.adaptive_max_pool2d(a[None],2)
        F.avg_pool3d(a[None,None],(1,2,2)) F.soft_margin_loss(a,EYE) F.batch_norm(a,EYE[0],EYE[0]+1,training=True)
        F.multilabel_soft_margin_loss(a,EYE) F.hardshrink(a) F.softshrink(a) F.selu(a) F.celu(a) F.threshold(a,0.5,1.0)
        F.gelu(a,approximate="tanh") a.logit(0.1) a.clamp_min(0.5) a.clamp_max(0.5) a.sinc() a.erfinv() a.lgamma() a.digamma() a.i0()
        torch.polygamma(2,a)""",
    "": """
        a.floor() a.ceil() a.trunc() a.sign() a.round() a.frac() a.deg2rad() a.neg() a+1 a*2 a/2 1/a 1-a a%0.4 torch.fmod(a,0.4) a.sum()
        a.sum(1) a.mean() a.mean(1) a.max(1)[0] a.min(1)[0] a.cumsum(1) a.diff() a.sort(0)[0] a.topk(2,1)[0] a.kthvalue(2)[0] a.t()
        a.tril() a.triu() a.diagonal() torch.diag(a) a.flip(0) a.roll(1,0) a.repeat(2,1) a.clone() a.view(-1) a.reshape(9)
        a.unsqueeze(0) a[1] a[[0,2]] a.select(0,1) a.index_select(0,ROWS[:2]) a.scatter(0,COLUMNS[:1],0.5) a.masked_fill(MASK,0.5)
        a.repeat_interleave(2,0) a.unfold(0,2,2) a.trace() F.cross_entropy(a,ROWS) F.pad(a,(1,1)) F.pad(a[None],(1,1),mode="circular")
        F.interpolate(a[None],scale_factor=2) F.embedding(ROWS,a) a.median(1)[0]
        F.interpolate(a[None,None],scale_factor=2,mode="bilinear") F.adaptive_avg_pool1d(a,1) F.adaptive_avg_pool2d(a[None],1)
        F.interpolate(a[None],scale_factor=2,mode="linear") F.interpolate(a[None,None],scale_factor=2,mode="bicubic")
        F.unfold(a[None,None],2) F.fold(F.unfold(a[None,None],2),(3,3),2)
        F.affine_grid(a.reshape(-1)[:6].view(1,2,3),(1,1,2,2),align_corners=False) F.cross_entropy(a,ROWS,label_smoothing=0.1)
        F.tanhshrink(a)""",
    "a=": """
        2.0**a a.prod() a.prod(1) a.std(1) a.std() a.amax() a.amin(1) a.max() a.min() a.aminmax()[1] a.logsumexp(1) a.norm()
        a.norm(dim=1) a.norm(1) a.logcumsumexp(1) a.cumprod(1) a.median() a.nanmedian() a.det() torch.linalg.cholesky(a@a.T+EYE)
        torch.special.i1(a)""",
}
NEEDS_OF_TWO = {  # functions of a and b
    "": """
        a+b a-b torch.lerp(a,b,0.3) torch.where(MASK,a,b) torch.add(a,b,alpha=2) torch.cat([a,b]) torch.stack([a,b])
        a.scatter_add(0,COLUMNS,b) a+b[0] F.kl_div(a,b,reduction="sum",log_target=True) F.margin_ranking_loss(a,b,EYE*2-1)""",
    "ab": """
        a*b a/b a%b torch.fmod(a,b) torch.atan2(a,b) torch.logaddexp(a,b) torch.xlogy(a,b) torch.maximum(a,b) torch.minimum(a,b) a@b
        a.mm(b) a.mv(b[0]) a[0].dot(b[0]) a[0].outer(b[0]) a.inner(b) torch.bmm(a[None],b[None]) torch.einsum("ij,jk->ik",a,b)
        torch.tensordot(a,b,1) F.linear(a,b) F.mse_loss(a,b) F.smooth_l1_loss(a,b) F.huber_loss(a,b) F.binary_cross_entropy(a,b)
        F.binary_cross_entropy_with_logits(a,b) torch.linalg.cross(a,b) torch.cross(a,b,dim=1) a*b[0] a/b[0] a.clamp(min=b)
        F.layer_norm(a,(3,),b[0],b[1]) F.batch_norm(a,None,None,b[0],b[1],training=True) F.group_norm(a,1,b[0],b[1]) F.prelu(a,b[0])
        F.prelu(a,b[0,:1]) F.grid_sample(a.view(1,1,3,3),b[None,:2,:2,None].expand(1,2,2,2),align_corners=False)
        F.kl_div(a,b,reduction="sum") F.conv1d(a[None],b[None]) F.conv2d(a[None,None],b[None,None])
        F.conv3d(a.view(1,1,1,3,3),b.view(1,1,1,3,3)) F.bilinear(a,a.detach(),b.view(1,3,3)) F.poisson_nll_loss(a,b)
        F.layer_norm(a,(3,),b[0]) F.batch_norm(a,EYE[0],EYE[0]+1,b[0],b[1]) F.cosine_similarity(a,b)
        F.cosine_embedding_loss(a,b,EYE[0]*2-1) F.bilinear(a,b,EYE[None]) F.conv_transpose2d(a[None,None],b[None,None,:2,:2])
        a.clamp(max=b) a.clamp(b,b+1) F.smooth_l1_loss(a,b,beta=0.5)""",
    "ab=": """
        a**b torch.hypot(a,b) torch.cdist(a,b) torch.dist(a,b) torch.cholesky_solve(a,b) a.scatter_reduce(0,COLUMNS,b,"sum")
        a.scatter_reduce(0,COLUMNS,b,"mean") a.scatter_reduce(0,COLUMNS,b,"prod") a.scatter_reduce(0,COLUMNS,b,"amax")
        a.scatter_reduce(0,COLUMNS,b,"amin",include_self=False)""",
    "=": """
        F.pairwise_distance(a,b) F.pairwise_distance(a,b,p=1)""",
    "a=": """
        torch.copysign(a,b) torch.linalg.solve(a,b) torch.linalg.solve_triangular(a,b,upper=True)""",
    "b": """
        torch.addcmul(a,b,b) torch.addcdiv(a,b,b) a.index_add(0,ROWS,b) a.index_copy(0,ROWS,b)""",
    "a": """
        torch.addcmul(b,a,a.detach()) torch.addmm(b,a,a.detach())""",
}

STRICTER = "F.l1_loss(a,b) F.smooth_l1_loss(a,b,beta=0.0)"
"""Functions that need a and b here, where one kernel computes them, but not in PyTorch, which keeps the signs of the differences."""

PROGRAMS = """
# rows
y = x*1.5; y[0] = 1; out = y

# cols
y = x*1.5; y[:,0::2]+=w[:2]; out = y*y

# keywords refused
y = x*2; out = x.scatter_reduce(dim=0, src=y, index=torch.zeros(3,3,dtype=torch.int64), reduce="sum"); y.mul_(2)

# flat
y = x*1.5; y.view(-1)[2:]*=3; out = y*y

# diag
y = x*1.5; y.diagonal().zero_(); out = y*y

# diagmul
y = x*1.5; y.diagonal(1).mul_(w[:2]); out = y*y

# chunk refused
y = x*1.5; a,b = y.chunk(2); a.mul_(2); out = y

# split refused
y = x*1.5; a = y.split(2)[0]; a.mul_(2); out = y

# unbind refused
y = x*1.5; a = y.unbind()[0]; a.mul_(2); out = y

# iterate refused
y = x*1.5
for r in y: r.mul_(2)
out = y

# tensor_split
y = x*1.5; a = y.tensor_split(2)[0]; a.mul_(2); out = y*y

# split_base refused
y = x*1.5; a,b = y.split(2); y.mul_(2); out = a.sum()+b.sum()

# split_base2
y = x*1.5; a,b = y.split(2); y.mul_(2); out = y*y

# view_of_piece refused
y = x*1.5; a,b = y.split(2); v = a[0]; v.mul_(2); out = y*y

# const_split refused
y = torch.zeros(3,3,dtype=torch.float64); a,b = y.split(2); a.mul_(w); out = y+x

# leafview refused
x[0].mul_(2); out = x

# leafset refused
x[0] = 1; out = x

# leafviewset refused
v = x[0]; v[1] = w[0]; out = x

# nograd_view refused
y = x*1.5
with torch.no_grad(): v = y[0]
v.mul_(2); out = y

# nograd_view_leaf refused
with torch.no_grad(): v = x[0]
v.mul_(2); out = x

# nograd_both
y = x*1.5
with torch.no_grad(): v = y[0]; v.mul_(2)
out = y*2

# nograd_write_view
y = x*1.5; v = y[0]
with torch.no_grad(): v.mul_(2)
out = y*2

# nograd_use refused
y = x*1.5
with torch.no_grad(): v = y[0]
y.mul_(2); out = v*x

# nograd_const refused
y = torch.zeros(3,3,dtype=torch.float64)
with torch.no_grad(): v = y[0]
v.add_(w); out = y+x

# const_base
y = torch.zeros(3,3,dtype=torch.float64); y[0].copy_(w); out = y*x

# const_chain
y = torch.zeros(3,3,dtype=torch.float64); y[1][2] = w[0]; y[0][0] = x[0,0]*2; out = y*x

# const_loop
y = torch.zeros(3,3,dtype=torch.float64)
for i in range(3):
    y[i] = w*x[i]
out = y*y

# before_after
y = x*1.5; v = y[0]; a = v*3; v2 = y[1]; v.mul_(w.detach()); b = v*5; out = (a*7).sum()+(b*b).sum()+(v2*y[0]).sum()

# siblings
y = x*1.5; a = y[0]; b = y.view(-1)[1:4]; a.mul_(2); out = (b*b).sum()+(a*a).sum()

# siblings2
y = x*1.5; a = y[0]; b = y.view(-1)[1:4]; b.mul_(2); a.add_(w)
y.mul_(3); b.sub_(1); out = (b*b).sum()+(a*a).sum()+(y*y).sum()

# viewofview
y = x*1.5; v = y[:2][:,1:][1]; v.mul_(w[:2]); out = y*y

# baseafter
y = x*1.5; v = y[0]; y.mul_(2); out = (v*v).sum()+y.sum()

# basezero
y = x*1.5; v = y[0]; y.zero_(); out = (v*v).sum()+(y*x).sum()

# viewcopy
y = x*1.5; v = y[0]; v.copy_(w); out = (v*x).sum()+(y*x).sum()

# saved_view refused
y = x*1.5; z = y*x; y[0].mul_(2); out = z

# saved_out refused
y = x.exp(); y[0].mul_(2); out = y

# expanded refused
y = w*1.5; v = y.expand(3,3); v.mul_(2); out = y

# expandedbase
y = w*1.5; v = y.expand(3,3); y.mul_(2); out = v*x

# detachview
y = x*1.5; d = y.detach(); d[0].mul_(2); out = y*2

# detachview2
y = x*1.5; d = y[0].detach(); d.mul_(w); out = (y*2).sum()+(d*d).sum()

# data
y = x*1.5; y.data[0] = 2; out = y*2

# unsq
y = x*1.5; v = y.unsqueeze(0).squeeze(0).permute(1,0).transpose(0,1); v[0] = w; out = y*y

# maskset
y = x*1.5; y[x>0.5] = 0; out = y*y

# maskset2
y = x*1.5; y[:2][x[:2]>0.5] = w[0]; out = y*y

# listset
y = x*1.5; y[[0,2]] = w; out = y*y

# maskfill
s = x@x.t(); s[:, 1:].masked_fill_(torch.tensor([[True,False]]),-2.0); out = torch.softmax(s,1)*x

# rezero
y = x*1.5; v = y.reshape(-1); v[4] = w[0]; out = y*y

# narrow
y = x*1.5; y.narrow(1,1,2).mul_(w[:2]); y.select(0,2).add_(w); out = y*y

# selfassign refused
y = x*1.5; y[1] = y[0]; y[0] = y[2]*y[1]; out = y*x

# inplacetwice
y = x*1.5; v = y[0]; v.mul_(2); v.mul_(w); v.add_(1); out = y*y

# grad_after refused
y = x*1.5; v = y[0]; v.pow_(2); v.exp_(); y.log_(); out = y*v

# mulself refused
y = x*1.5; y.mul_(y); out = y

# powself refused
y = x*1.5; y.pow_(y); out = y

# mulview refused
y = x*1.5; y.mul_(y[0]); out = y

# addself
y = x*1.5; y.add_(y); y+=y; out = y*x

# t_
y = x*1.5; y.t_(); y[0] = w; out = y*y

# transp
y = x*1.5; v = y[0]; y.unsqueeze_(0); v.mul_(2); out = y*y

# detach_
y = x*1.5; z = y*2; y.detach_(); out = z+y

# detach_view refused
y = x*1.5; v = y[0]; v.detach_(); out = y

# backtwice
y = x*1.5; v = y[0]; v.mul_(2); (y*y).sum().backward(retain_graph=True); out = (v*v).sum()

# second
y = x*1.5; y[0].mul_(w); y.diagonal().mul_(2)
g, = torch.autograd.grad((y**3).sum(),x,create_graph=True); out = g*g

# second2 refused
y = x*x; v = y.view(-1)[1:5]; v.exp_(); y.t()[1] = w*w
g, = torch.autograd.grad((y*y).sum(),x,create_graph=True); out = g*w

# noncontig
y = (x*1.5).t().contiguous().detach().requires_grad_()*1.0; v = y.t()[:,1]; v.mul_(w); out = y*x

# detbase
d = x.t().detach(); d = d.clone(); v = d[:,0]; v.mul_(w); out = d*x

# detbase2
d = (x*1).t().detach(); v = d[:,0]; v.mul_(w); out = d*w

# requires
y = torch.zeros(3,3,dtype=torch.float64); v = y[0]; y[1] = w; assert v.requires_grad and y.requires_grad
out = (v*x).sum()+(y*y).sum()

# retain
y = x*1.5; v = y[0]; v.retain_grad(); y.retain_grad(); v.mul_(2); L = (y*y).sum()+v.sum()
L.backward(retain_graph=True); seen += [v.grad.tolist(), y.grad.tolist()]; out = L

# hooks
y = x*1.5; y.register_hook(lambda g:seen.append(g.tolist())); v = y[0]; v.register_hook(lambda g:seen.append(g.tolist()))
u = v*3; v.mul_(2); out = (y*y).sum()+u.sum()

# posenc
X = x.unsqueeze(0)*1.0; X[:,:,0::2]+=w[:2]; X[:,:,1::2]*=w[2:]; out = X*X

# zero_dim refused
y = x.sum(); y.view(1).mul_(3); y.mul_(2); v = y.view(1); v[0] = y*w[0]; out = y

# hsplit
y = x*1.5; a = y.hsplit(3)[1]; a.mul_(2); out = y

# expandas
y = w*1.5; v = y[None]; v.mul_(2); u = y.view(1,3).expand(2,3); y.add_(1); out = (u*u).sum()+v.sum()

# diagcopy
y = x*1.5; v = torch.diag(y); v.mul_(2); out = y.sum()+(v*v).sum()

# relu_in refused
y = x-0.5; torch.nn.functional.relu(y[0],inplace=True)
torch.nn.functional.leaky_relu_(y[1],0.1); out = y*x

# sqrtlog refused
y = x*1.5; y[0].sqrt_(); y[1].sigmoid_(); y[2].tanh_(); y.abs_(); y.round_(); out = y+x

# unfoldv
y = x*1.5; v = y.unfold(1,2,1); y.mul_(2); out = v*v

# targets refused
t = torch.tensor([0,2,1]); out = torch.nn.functional.cross_entropy(x*1.5,t); t.zero_()

# targets_of_weighted refused
t = torch.tensor([0,2,1]); out = torch.nn.functional.nll_loss(x*1.5,t,w.detach()); t.zero_()

# targets_without_gradient
t = x.detach(); t /= t.sum(1,keepdim=True); out = w*torch.nn.functional.cross_entropy(x.detach(),t); t.zero_()

# out_of_loop
h = x*1.0
for i in range(3): h[:,i].mul_(w[i]); h.add_(x)
out = h*h
"""


def run(torch: Any, program: str) -> list[Any]:
    """The value of a program, the gradients of its leaves, and what it has seen; or its refusal."""
    x = torch.tensor(NUMBERS, dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.5, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    names: dict[str, Any] = {"torch": torch, "x": x, "w": w, "seen": []}
    try:
        exec(program, names)
        out = names["out"]
        (out * torch.arange(1, out.numel() + 1, dtype=torch.float64).reshape(out.shape)).sum().backward()
    except RuntimeError as error:
        return ["refused", str(error)]
    return [out.tolist(), *[None if leaf.grad is None else leaf.grad.tolist() for leaf in (x, w)], names["seen"]]


def call(torch: Any, function: str, constant: str = "", target: str = "", write: str = "") -> list[Any]:
    """The gradients of a function of a and b, of which one may be constant and one, or the result, is written into; or its refusal."""
    leaves = {name: torch.tensor(values, dtype=torch.float64, requires_grad=name != constant) for name, values in LEAVES}
    names = {name: leaf * 1.0 for name, leaf in leaves.items()} | {"torch": torch, "F": torch.nn.functional}
    names["MASK"], names["ROWS"] = torch.tensor([True, False, True]), torch.tensor([0, 2, 1])
    names["COLUMNS"], names["EYE"] = torch.tensor([[0, 1, 2], [1, 2, 0], [2, 0, 1]]), torch.eye(3, dtype=torch.float64)
    names["="] = out = eval(function, names)
    try:
        if target:
            exec(f"y{write}", {"y": names[target], "torch": torch})
        if out.requires_grad:
            (out.double() * (1.3 + torch.arange(out.numel(), dtype=torch.float64).reshape(out.shape))).sum().backward()
    except RuntimeError as error:
        return ["refused", str(error)]
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves.values()]
