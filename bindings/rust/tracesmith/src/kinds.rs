// SPDX-License-Identifier: Apache-2.0
//
// Made by scripts/rust-bindings from commands.def; do not edit.

use crate::{Cursor, Name, Result};

/// a device the process sees (one record per device, at the start)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// ordinal
    pub device: u64,
    /// name
    pub device_name: String,
    /// compute capability, major
    pub sm_major: u64,
    /// compute capability, minor
    pub sm_minor: u64,
    /// memory in bytes
    pub total_mem: u64,
    /// multiprocessors
    pub sm_count: u64,
    /// cuDriverGetVersion
    pub driver_version: u64,
    /// 1 for the software GPU
    pub soft: bool,
    /// what its code must be for, of AMD: gfx90a:sramecc+:xnack-
    pub device_target: String,
}

/// a context came to be (created, or a primary context retained for the first time)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtxCreate {
    /// its id
    pub new_ctx: Option<u32>,
    /// ordinal
    pub device: u64,
    /// 1 for the primary context
    pub primary: bool,
    /// id of its legacy default stream
    pub default_stream: Option<u32>,
    /// CUcontext
    pub handle: u64,
    /// cuCtxCreate flags
    pub ctx_flags: u64,
}

/// a context was destroyed, released for the last time, or reset
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtxDestroy {
    /// its id
    pub dead_ctx: Option<u32>,
}

/// the thread's current context changed (set, push, pop)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtxSet {
    /// the context now current; SBT_NO_ID for none
    pub new_ctx: Option<u32>,
}

/// a stream was created, or seen for the first time
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamCreate {
    /// its id
    pub new_stream: Option<u32>,
    /// CUstream
    pub handle: u64,
    /// 1: CU_STREAM_NON_BLOCKING; 0x80000000: not known
    pub stream_flags: u64,
    /// lower is more urgent
    pub priority: i64,
    /// 1: the calling thread's per-thread default stream
    pub per_thread: bool,
}

/// a stream was destroyed; its pending work still runs
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamDestroy {
    /// its id
    pub dead_stream: Option<u32>,
}

/// an event was created
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCreate {
    /// its id
    pub new_event: Option<u32>,
    /// CUevent
    pub handle: u64,
    /// 1 blocking sync, 2 no timing, 4 interprocess
    pub event_flags: u64,
}

/// an event was destroyed
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDestroy {
    /// its id
    pub dead_event: Option<u32>,
}

/// a module or library was loaded
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleLoad {
    /// its id
    pub new_module: Option<u32>,
    /// CUmodule or CUlibrary
    pub handle: u64,
    /// 1: cuLibraryLoad*
    pub is_library: bool,
    /// XXH64 of its cubin or PTX; 0 while not known
    pub code_hash: u64,
    /// bytes
    pub code_size: u64,
    /// file name, when it was loaded from one
    pub file: String,
    /// XXH64 of the PTX that was beside its cubin; 0 when there was none
    pub ptx_hash: u64,
    /// architecture of the machine code beside that PTX that a device there can run (90 for 9.0), so that the PTX may not be what runs; 0 when there was none, or not known
    pub machine_arch: u64,
}

/// a module or library was unloaded
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleUnload {
    /// its id
    pub dead_module: Option<u32>,
}

/// a kernel was seen for the first time
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDef {
    /// its id
    pub new_kernel: Option<u32>,
    /// where it comes from; SBT_NO_ID when not known
    pub module: Option<u32>,
    /// CUfunction or CUkernel
    pub handle: u64,
    /// mangled name
    pub kernel_name: String,
    /// packed u32 pairs (offset, size), one per parameter, little endian
    pub params: Vec<u8>,
    /// registers a thread
    pub regs: u64,
    /// static shared memory a block, bytes
    pub static_shared: u64,
    /// local memory a thread, bytes
    pub local_mem: u64,
    /// most threads a block
    pub max_threads: u64,
    /// the module's code hash; 0 when not known
    pub code_hash: u64,
}

/// memory was allocated
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alloc {
    /// start
    pub addr: u64,
    /// bytes asked for
    pub size: u64,
    /// kind of memory
    pub mem: Name,
    /// ordinal of the device it lives on
    pub device: u64,
    /// row pitch, bytes; 0 when not pitched
    pub pitch: u64,
    /// flags of the call
    pub alloc_flags: u64,
    /// stream of a stream-ordered allocation; SBT_NO_ID otherwise
    pub stream: Option<u32>,
    /// of an array: CUarray_format
    pub format: u64,
    /// of an array: of a texel
    pub channels: u64,
    /// of an array: texels a row
    pub width: u64,
    /// of an array: rows; 0 in one dimension
    pub height: u64,
    /// of an array: slices or layers; 0 in two dimensions
    pub depth: u64,
}

/// memory was freed
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// start
    pub addr: u64,
    /// kind of memory
    pub mem: Name,
    /// stream of a stream-ordered free; SBT_NO_ID otherwise
    pub stream: Option<u32>,
}

/// a kernel launch
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// 
    pub stream: Option<u32>,
    /// 
    pub kernel: Option<u32>,
    /// blocks
    pub grid_x: u64,
    /// blocks
    pub grid_y: u64,
    /// blocks
    pub grid_z: u64,
    /// threads
    pub block_x: u64,
    /// threads
    pub block_y: u64,
    /// threads
    pub block_z: u64,
    /// dynamic shared memory, bytes
    pub shared: u64,
    /// 
    pub cooperative: bool,
    /// blocks a cluster; 0 when not set
    pub cluster_x: u64,
    /// 
    pub cluster_y: u64,
    /// 
    pub cluster_z: u64,
    /// bit i set: launch attribute with id i was given (6: and not 0); 63: of a saved schedule, see order.h
    pub launch_attrs: u64,
    /// the parameter buffer: each parameter at its offset in kernel_def.params
    pub args: Vec<u8>,
    /// 1 + the event that attribute 7 records when all blocks have let others begin; 0: none, or not known
    pub trigger_event: u64,
    /// attribute 7: each block lets them begin when it begins itself
    pub trigger_at_start: u64,
    /// 1 + the event that attribute 12 records when all blocks have begun; 0: none, or not known
    pub begun_event: u64,
    /// of HIP: threads of the last block in x, whose grid was given in threads; 0: as many as the others have
    pub last_x: u64,
    /// the same in y
    pub last_y: u64,
    /// the same in z
    pub last_z: u64,
}

/// a memory copy, any direction, 1D, 2D or 3D
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// 
    pub stream: Option<u32>,
    /// direction
    pub dir: Name,
    /// 
    pub dst: u64,
    /// 
    pub src: u64,
    /// bytes in all
    pub size: u64,
    /// 0: the call returned only when the copy was done
    pub r#async: bool,
    /// bytes a row; 0 for a 1D copy
    pub width: u64,
    /// rows
    pub height: u64,
    /// slices
    pub depth: u64,
    /// bytes from row to row; 0: the width, rows without gaps
    pub dst_pitch: u64,
    /// bytes from row to row; 0: the width, rows without gaps
    pub src_pitch: u64,
    /// bytes from slice to slice, whole rows; 0: pitch * height
    pub dst_slice: u64,
    /// bytes from slice to slice, whole rows; 0: pitch * height
    pub src_slice: u64,
    /// 1: the host side is pageable memory, so an async copy was staged
    pub pageable: bool,
}

/// a memset
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// 
    pub stream: Option<u32>,
    /// 
    pub dst: u64,
    /// bytes in all
    pub size: u64,
    /// the pattern
    pub value: u64,
    /// bytes of the pattern: 1, 2 or 4
    pub elem: u64,
    /// 
    pub r#async: bool,
    /// elements a row; 0 for 1D
    pub width: u64,
    /// rows
    pub height: u64,
    /// bytes from row to row; 0: the width, rows without gaps
    pub dst_pitch: u64,
}

/// an event record
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// 
    pub stream: Option<u32>,
    /// 
    pub event: Option<u32>,
    /// 1: CU_EVENT_RECORD_EXTERNAL
    pub record_flags: u64,
}

/// a stream was told to wait for an event's last record
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamWait {
    /// the one that waits
    pub stream: Option<u32>,
    /// 
    pub event: Option<u32>,
    /// 
    pub wait_flags: u64,
}

/// the host begins to wait; the matching sync_end is when it goes on
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sync {
    /// what it waits for
    pub scope: Name,
    /// for scope stream; SBT_NO_ID otherwise
    pub stream: Option<u32>,
    /// for scope event; SBT_NO_ID otherwise
    pub event: Option<u32>,
}

/// the host's wait ended: what it waited for is finished
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncEnd {
    /// the sync command; everything it covers was submitted before that
    pub begin: u64,
}

/// the host asked whether a stream or an event is finished; result 0 means yes, 600 not ready
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// stream or event
    pub scope: Name,
    /// 
    pub stream: Option<u32>,
    /// 
    pub event: Option<u32>,
}

/// a host function in a stream
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFunc {
    /// 
    pub stream: Option<u32>,
    /// 
    pub r#fn: u64,
    /// 
    pub user_data: u64,
}

/// stream capture begins: following work on the stream becomes graph nodes
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureBegin {
    /// 
    pub stream: Option<u32>,
    /// 
    pub mode: Name,
}

/// stream capture ended in a graph
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureEnd {
    /// 
    pub stream: Option<u32>,
    /// its id; SBT_NO_ID when the capture failed
    pub new_graph: Option<u32>,
    /// CUgraph
    pub handle: u64,
}

/// an empty graph, or a clone
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphCreate {
    /// its id
    pub new_graph: Option<u32>,
    /// SBT_NO_ID for an empty one
    pub clone_of: Option<u32>,
    /// CUgraph
    pub handle: u64,
}

/// a node of a graph; written for every node when a graph is instantiated
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// 
    pub graph: Option<u32>,
    /// number within the graph
    pub node: u64,
    /// 
    pub r#type: Name,
    /// packed u32: the nodes it depends on
    pub deps: Vec<u8>,
    /// for a kernel node; SBT_NO_ID otherwise
    pub kernel: Option<u32>,
    /// the node as one packed command (launch, copy, fill, ...; of type other, unreplayable: what it is), or empty
    pub payload: Vec<u8>,
    /// the command that made it: one captured into the graph, or a graph_add; 0 not known
    pub origin: u64,
    /// 1: launches leave it out (cuGraphNodeSetEnabled)
    pub disabled: bool,
}

/// an executable graph
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphInstantiate {
    /// its id, from the same numbers as graphs
    pub new_exec: Option<u32>,
    /// what it was made from
    pub graph: Option<u32>,
    /// CUgraphExec
    pub handle: u64,
    /// 
    pub inst_flags: u64,
    /// nodes of the graph: 0 to so many are valid; 0: not known
    pub nodes: u64,
}

/// a graph or an executable graph was destroyed
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphDestroy {
    /// its id
    pub dead_graph: Option<u32>,
}

/// a graph launch
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLaunch {
    /// 
    pub stream: Option<u32>,
    /// 
    pub exec: Option<u32>,
}

/// a function attribute was set
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncAttr {
    /// 
    pub kernel: Option<u32>,
    /// CUfunction_attribute
    pub attr: u64,
    /// 
    pub attr_value: i64,
}

/// the address of a module's global was asked for
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalDef {
    /// 
    pub module: Option<u32>,
    /// 
    pub global_name: String,
    /// 
    pub addr: u64,
    /// bytes
    pub size: u64,
}

/// a mark or trigger of the program, or a range pushed or popped on this thread (NVTX, tracesmith/mark.h)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// 0 mark, 1 push, 2 pop, 3 trigger
    pub mark_kind: u64,
    /// 
    pub text: String,
}

/// a thread made its first GPU call
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// the kernel's thread id
    pub os_tid: u64,
    /// 
    pub thread_name: String,
}

/// a call that changes GPU state and that no command kind describes
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreplayable {
    /// the driver's entry point
    pub call: String,
}

/// stream memory operations: a 32- or 64-bit value written, or waited for
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// 
    pub stream: Option<u32>,
    /// 1 wait, 0 write
    pub is_wait: bool,
    /// 
    pub addr: u64,
    /// 
    pub value: u64,
    /// 4 or 8 bytes
    pub elem: u64,
    /// 
    pub op_flags: u64,
}

/// a module's code became known: it was loaded when something of it was first asked for
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleCode {
    /// 
    pub module: Option<u32>,
    /// XXH64 of its cubin or PTX
    pub code_hash: u64,
    /// bytes
    pub code_size: u64,
}

/// a call that adds a node to a graph
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphAdd {
    /// 
    pub graph: Option<u32>,
    /// 
    pub r#type: Name,
    /// CUgraphNode
    pub handle: u64,
}

/// an executable graph is changed; the graph_node records of what is new follow
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphUpdate {
    /// 
    pub exec: Option<u32>,
    /// the graph that it becomes like; SBT_NO_ID: single nodes change
    pub graph: Option<u32>,
    /// the node that changes; SBT_NO_ID: all, or not known
    pub node: u64,
    /// the driver's entry point
    pub call: String,
}

/// tsdb was attached to the running program; what was found of what was there before; what could not be found
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// 0 attached here: commands before are not known; 1 memory was looked for; 2 something is not known (text)
    pub what: u64,
    /// contexts found
    pub contexts: u64,
    /// allocations found by looking through the address space; others are introduced when a command names them
    pub allocations: u64,
    /// of those
    pub bytes: u64,
    /// address space looked through
    pub probed: u64,
    /// one question for so many bytes, and one for every 512 where there was something
    pub step: u64,
    /// places given up, because calls that allocate were under way all the time
    pub missed: u64,
    /// whose code is not known; SBT_NO_ID otherwise
    pub module: Option<u32>,
    /// what is not known
    pub text: String,
    /// how long looking took, beside the program
    pub took: u64,
}

/// a texture or surface object was created
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureCreate {
    /// its id, from 0 in order of creation; textures and surfaces have the same numbers
    pub new_texture: u64,
    /// CUtexObject or CUsurfObject: the value that kernels are given
    pub handle: u64,
    /// 1: a surface
    pub surface: bool,
    /// CUresourcetype: 0 array, 2 linear memory, 3 pitched memory
    pub resource: u64,
    /// of the array, or of the memory
    pub addr: u64,
    /// bytes from there to behind the last texel
    pub size: u64,
    /// CUarray_format
    pub format: u64,
    /// of a texel
    pub channels: u64,
    /// texels a row, of arrays and pitched memory
    pub width: u64,
    /// rows; 0 in one dimension
    pub height: u64,
    /// slices or layers of an array; 0 in two dimensions
    pub depth: u64,
    /// CUDA_ARRAY3D_*
    pub array_flags: u64,
    /// bytes from row to row, of pitched memory
    pub pitch: u64,
    /// CUaddress_mode: 0 wrap, 1 clamp, 2 mirror, 3 border; here and below of a texture
    pub address_x: u64,
    /// 
    pub address_y: u64,
    /// 
    pub address_z: u64,
    /// CUfilter_mode: 0 point, 1 linear
    pub filter: u64,
    /// CU_TRSF_*: 1 read as integer, 2 normalized coordinates, 16 sRGB
    pub texture_flags: u64,
    /// most anisotropy
    pub anisotropy: u64,
    /// the border's colour: the bits of a float
    pub border_r: u64,
    /// 
    pub border_g: u64,
    /// 
    pub border_b: u64,
    /// 
    pub border_a: u64,
}

/// a texture or surface object was destroyed
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureDestroy {
    /// its id
    pub dead_texture: u64,
}

/// a limit of the current context was set
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtxLimit {
    /// CUlimit: 0 the stack of a thread, 1 printf's buffer, 2 the heap of malloc() on the device; others
    pub limit: u64,
    /// bytes, or a number
    pub limit_value: u64,
}

/// A command: a variant for each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    Device(Device),
    CtxCreate(CtxCreate),
    CtxDestroy(CtxDestroy),
    CtxSet(CtxSet),
    StreamCreate(StreamCreate),
    StreamDestroy(StreamDestroy),
    EventCreate(EventCreate),
    EventDestroy(EventDestroy),
    ModuleLoad(ModuleLoad),
    ModuleUnload(ModuleUnload),
    KernelDef(KernelDef),
    Alloc(Alloc),
    Free(Free),
    Launch(Launch),
    Copy(Copy),
    Fill(Fill),
    EventRecord(EventRecord),
    StreamWait(StreamWait),
    Sync(Sync),
    SyncEnd(SyncEnd),
    Query(Query),
    HostFunc(HostFunc),
    CaptureBegin(CaptureBegin),
    CaptureEnd(CaptureEnd),
    GraphCreate(GraphCreate),
    GraphNode(GraphNode),
    GraphInstantiate(GraphInstantiate),
    GraphDestroy(GraphDestroy),
    GraphLaunch(GraphLaunch),
    FuncAttr(FuncAttr),
    GlobalDef(GlobalDef),
    Mark(Mark),
    Thread(Thread),
    Unreplayable(Unreplayable),
    Batch(Batch),
    ModuleCode(ModuleCode),
    GraphAdd(GraphAdd),
    GraphUpdate(GraphUpdate),
    Attach(Attach),
    TextureCreate(TextureCreate),
    TextureDestroy(TextureDestroy),
    CtxLimit(CtxLimit),
    /// Of a kind that this crate does not know.
    Unknown(String),
}

/// The names of all kinds, as `Cursor::kind()` has them.
pub const KINDS: &[&str] = &[
    "device",
    "ctx_create",
    "ctx_destroy",
    "ctx_set",
    "stream_create",
    "stream_destroy",
    "event_create",
    "event_destroy",
    "module_load",
    "module_unload",
    "kernel_def",
    "alloc",
    "free",
    "launch",
    "copy",
    "fill",
    "event_record",
    "stream_wait",
    "sync",
    "sync_end",
    "query",
    "host_func",
    "capture_begin",
    "capture_end",
    "graph_create",
    "graph_node",
    "graph_instantiate",
    "graph_destroy",
    "graph_launch",
    "func_attr",
    "global_def",
    "mark",
    "thread",
    "unreplayable",
    "batch",
    "module_code",
    "graph_add",
    "graph_update",
    "attach",
    "texture_create",
    "texture_destroy",
    "ctx_limit",
];

impl Command {
    pub(crate) fn read(c: &Cursor) -> Result<Command> {
        Ok(match c.kind() {
            "device" => Command::Device(Device {
                device: c.number("device")?,
                device_name: c.text("device_name")?,
                sm_major: c.number("sm_major")?,
                sm_minor: c.number("sm_minor")?,
                total_mem: c.number("total_mem")?,
                sm_count: c.number("sm_count")?,
                driver_version: c.number("driver_version")?,
                soft: c.flag("soft")?,
                device_target: c.text("device_target")?,
            }),
            "ctx_create" => Command::CtxCreate(CtxCreate {
                new_ctx: c.id("new_ctx")?,
                device: c.number("device")?,
                primary: c.flag("primary")?,
                default_stream: c.id("default_stream")?,
                handle: c.number("handle")?,
                ctx_flags: c.number("ctx_flags")?,
            }),
            "ctx_destroy" => Command::CtxDestroy(CtxDestroy {
                dead_ctx: c.id("dead_ctx")?,
            }),
            "ctx_set" => Command::CtxSet(CtxSet {
                new_ctx: c.id("new_ctx")?,
            }),
            "stream_create" => Command::StreamCreate(StreamCreate {
                new_stream: c.id("new_stream")?,
                handle: c.number("handle")?,
                stream_flags: c.number("stream_flags")?,
                priority: c.signed("priority")?,
                per_thread: c.flag("per_thread")?,
            }),
            "stream_destroy" => Command::StreamDestroy(StreamDestroy {
                dead_stream: c.id("dead_stream")?,
            }),
            "event_create" => Command::EventCreate(EventCreate {
                new_event: c.id("new_event")?,
                handle: c.number("handle")?,
                event_flags: c.number("event_flags")?,
            }),
            "event_destroy" => Command::EventDestroy(EventDestroy {
                dead_event: c.id("dead_event")?,
            }),
            "module_load" => Command::ModuleLoad(ModuleLoad {
                new_module: c.id("new_module")?,
                handle: c.number("handle")?,
                is_library: c.flag("is_library")?,
                code_hash: c.number("code_hash")?,
                code_size: c.number("code_size")?,
                file: c.text("file")?,
                ptx_hash: c.number("ptx_hash")?,
                machine_arch: c.number("machine_arch")?,
            }),
            "module_unload" => Command::ModuleUnload(ModuleUnload {
                dead_module: c.id("dead_module")?,
            }),
            "kernel_def" => Command::KernelDef(KernelDef {
                new_kernel: c.id("new_kernel")?,
                module: c.id("module")?,
                handle: c.number("handle")?,
                kernel_name: c.text("kernel_name")?,
                params: c.bytes("params")?,
                regs: c.number("regs")?,
                static_shared: c.number("static_shared")?,
                local_mem: c.number("local_mem")?,
                max_threads: c.number("max_threads")?,
                code_hash: c.number("code_hash")?,
            }),
            "alloc" => Command::Alloc(Alloc {
                addr: c.number("addr")?,
                size: c.number("size")?,
                mem: c.name("mem")?,
                device: c.number("device")?,
                pitch: c.number("pitch")?,
                alloc_flags: c.number("alloc_flags")?,
                stream: c.id("stream")?,
                format: c.number("format")?,
                channels: c.number("channels")?,
                width: c.number("width")?,
                height: c.number("height")?,
                depth: c.number("depth")?,
            }),
            "free" => Command::Free(Free {
                addr: c.number("addr")?,
                mem: c.name("mem")?,
                stream: c.id("stream")?,
            }),
            "launch" => Command::Launch(Launch {
                stream: c.id("stream")?,
                kernel: c.id("kernel")?,
                grid_x: c.number("grid_x")?,
                grid_y: c.number("grid_y")?,
                grid_z: c.number("grid_z")?,
                block_x: c.number("block_x")?,
                block_y: c.number("block_y")?,
                block_z: c.number("block_z")?,
                shared: c.number("shared")?,
                cooperative: c.flag("cooperative")?,
                cluster_x: c.number("cluster_x")?,
                cluster_y: c.number("cluster_y")?,
                cluster_z: c.number("cluster_z")?,
                launch_attrs: c.number("launch_attrs")?,
                args: c.bytes("args")?,
                trigger_event: c.number("trigger_event")?,
                trigger_at_start: c.number("trigger_at_start")?,
                begun_event: c.number("begun_event")?,
                last_x: c.number("last_x")?,
                last_y: c.number("last_y")?,
                last_z: c.number("last_z")?,
            }),
            "copy" => Command::Copy(Copy {
                stream: c.id("stream")?,
                dir: c.name("dir")?,
                dst: c.number("dst")?,
                src: c.number("src")?,
                size: c.number("size")?,
                r#async: c.flag("async")?,
                width: c.number("width")?,
                height: c.number("height")?,
                depth: c.number("depth")?,
                dst_pitch: c.number("dst_pitch")?,
                src_pitch: c.number("src_pitch")?,
                dst_slice: c.number("dst_slice")?,
                src_slice: c.number("src_slice")?,
                pageable: c.flag("pageable")?,
            }),
            "fill" => Command::Fill(Fill {
                stream: c.id("stream")?,
                dst: c.number("dst")?,
                size: c.number("size")?,
                value: c.number("value")?,
                elem: c.number("elem")?,
                r#async: c.flag("async")?,
                width: c.number("width")?,
                height: c.number("height")?,
                dst_pitch: c.number("dst_pitch")?,
            }),
            "event_record" => Command::EventRecord(EventRecord {
                stream: c.id("stream")?,
                event: c.id("event")?,
                record_flags: c.number("record_flags")?,
            }),
            "stream_wait" => Command::StreamWait(StreamWait {
                stream: c.id("stream")?,
                event: c.id("event")?,
                wait_flags: c.number("wait_flags")?,
            }),
            "sync" => Command::Sync(Sync {
                scope: c.name("scope")?,
                stream: c.id("stream")?,
                event: c.id("event")?,
            }),
            "sync_end" => Command::SyncEnd(SyncEnd {
                begin: c.number("begin")?,
            }),
            "query" => Command::Query(Query {
                scope: c.name("scope")?,
                stream: c.id("stream")?,
                event: c.id("event")?,
            }),
            "host_func" => Command::HostFunc(HostFunc {
                stream: c.id("stream")?,
                r#fn: c.number("fn")?,
                user_data: c.number("user_data")?,
            }),
            "capture_begin" => Command::CaptureBegin(CaptureBegin {
                stream: c.id("stream")?,
                mode: c.name("mode")?,
            }),
            "capture_end" => Command::CaptureEnd(CaptureEnd {
                stream: c.id("stream")?,
                new_graph: c.id("new_graph")?,
                handle: c.number("handle")?,
            }),
            "graph_create" => Command::GraphCreate(GraphCreate {
                new_graph: c.id("new_graph")?,
                clone_of: c.id("clone_of")?,
                handle: c.number("handle")?,
            }),
            "graph_node" => Command::GraphNode(GraphNode {
                graph: c.id("graph")?,
                node: c.number("node")?,
                r#type: c.name("type")?,
                deps: c.bytes("deps")?,
                kernel: c.id("kernel")?,
                payload: c.bytes("payload")?,
                origin: c.number("origin")?,
                disabled: c.flag("disabled")?,
            }),
            "graph_instantiate" => Command::GraphInstantiate(GraphInstantiate {
                new_exec: c.id("new_exec")?,
                graph: c.id("graph")?,
                handle: c.number("handle")?,
                inst_flags: c.number("inst_flags")?,
                nodes: c.number("nodes")?,
            }),
            "graph_destroy" => Command::GraphDestroy(GraphDestroy {
                dead_graph: c.id("dead_graph")?,
            }),
            "graph_launch" => Command::GraphLaunch(GraphLaunch {
                stream: c.id("stream")?,
                exec: c.id("exec")?,
            }),
            "func_attr" => Command::FuncAttr(FuncAttr {
                kernel: c.id("kernel")?,
                attr: c.number("attr")?,
                attr_value: c.signed("attr_value")?,
            }),
            "global_def" => Command::GlobalDef(GlobalDef {
                module: c.id("module")?,
                global_name: c.text("global_name")?,
                addr: c.number("addr")?,
                size: c.number("size")?,
            }),
            "mark" => Command::Mark(Mark {
                mark_kind: c.number("mark_kind")?,
                text: c.text("text")?,
            }),
            "thread" => Command::Thread(Thread {
                os_tid: c.number("os_tid")?,
                thread_name: c.text("thread_name")?,
            }),
            "unreplayable" => Command::Unreplayable(Unreplayable {
                call: c.text("call")?,
            }),
            "batch" => Command::Batch(Batch {
                stream: c.id("stream")?,
                is_wait: c.flag("is_wait")?,
                addr: c.number("addr")?,
                value: c.number("value")?,
                elem: c.number("elem")?,
                op_flags: c.number("op_flags")?,
            }),
            "module_code" => Command::ModuleCode(ModuleCode {
                module: c.id("module")?,
                code_hash: c.number("code_hash")?,
                code_size: c.number("code_size")?,
            }),
            "graph_add" => Command::GraphAdd(GraphAdd {
                graph: c.id("graph")?,
                r#type: c.name("type")?,
                handle: c.number("handle")?,
            }),
            "graph_update" => Command::GraphUpdate(GraphUpdate {
                exec: c.id("exec")?,
                graph: c.id("graph")?,
                node: c.number("node")?,
                call: c.text("call")?,
            }),
            "attach" => Command::Attach(Attach {
                what: c.number("what")?,
                contexts: c.number("contexts")?,
                allocations: c.number("allocations")?,
                bytes: c.number("bytes")?,
                probed: c.number("probed")?,
                step: c.number("step")?,
                missed: c.number("missed")?,
                module: c.id("module")?,
                text: c.text("text")?,
                took: c.number("took")?,
            }),
            "texture_create" => Command::TextureCreate(TextureCreate {
                new_texture: c.number("new_texture")?,
                handle: c.number("handle")?,
                surface: c.flag("surface")?,
                resource: c.number("resource")?,
                addr: c.number("addr")?,
                size: c.number("size")?,
                format: c.number("format")?,
                channels: c.number("channels")?,
                width: c.number("width")?,
                height: c.number("height")?,
                depth: c.number("depth")?,
                array_flags: c.number("array_flags")?,
                pitch: c.number("pitch")?,
                address_x: c.number("address_x")?,
                address_y: c.number("address_y")?,
                address_z: c.number("address_z")?,
                filter: c.number("filter")?,
                texture_flags: c.number("texture_flags")?,
                anisotropy: c.number("anisotropy")?,
                border_r: c.number("border_r")?,
                border_g: c.number("border_g")?,
                border_b: c.number("border_b")?,
                border_a: c.number("border_a")?,
            }),
            "texture_destroy" => Command::TextureDestroy(TextureDestroy {
                dead_texture: c.number("dead_texture")?,
            }),
            "ctx_limit" => Command::CtxLimit(CtxLimit {
                limit: c.number("limit")?,
                limit_value: c.number("limit_value")?,
            }),
            other => Command::Unknown(other.to_string()),
        })
    }
}
