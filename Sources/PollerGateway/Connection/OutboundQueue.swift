import DequeModule
import NIOCore

/// The frames that a client has not taken yet, bounded in number and bytes.
///
/// *Problem*: a client that reads slowly, or not at all, must cost neither memory without bound nor
/// the events of others.
/// *Approach*: frames stay here as long as the channel is not writable, that is, while the kernel and
/// some 64 KiB behind it are full. Whoever has one more looks for room first: events wait in the
/// outbox meanwhile, so a burst, or a client that catches up, costs no more memory than the bounds.
/// Answers are few: a client that lets them pile up is too slow. The last frames go in whatever the
/// bounds say (``finish(with:discarding:)``), so that a goodbye is always told.
///
/// A value, confined like the connection that holds it to one event loop.
struct OutboundQueue {
    private let countMax: Int
    private let bytesMax: Int
    private var frames: Deque<OutboundFrame> = []
    private var bytes = 0
    /// Nothing more goes in.
    private(set) var isFinished = false

    /// A queue of at most `limits.queueMessagesMax` frames and `limits.queueBytesMax` bytes; one
    /// frame always fits into an empty one.
    init(_ limits: GatewayLimits) {
        countMax = limits.queueMessagesMax
        bytesMax = limits.queueBytesMax
    }

    /// Whether everything has been taken.
    var isEmpty: Bool { frames.isEmpty }

    /// Whether one more may go in.
    ///
    /// A frame larger than all bytes allowed still fits into an empty queue, or it never would.
    var hasRoom: Bool { frames.count < countMax && (bytes < bytesMax || frames.isEmpty) }

    /// Whether so much is free that it pays to read on where somebody had to stop.
    var isHalfEmpty: Bool { frames.count <= countMax / 2 && bytes <= bytesMax / 2 }

    /// Puts a frame in; nothing happens when the queue has ended.
    mutating func append(_ frame: OutboundFrame) {
        guard !isFinished else { return }
        frames.append(frame)
        bytes += frame.bytes
    }

    /// Takes the oldest frame out.
    mutating func take() -> OutboundFrame? {
        guard let frame = frames.popFirst() else { return nil }
        bytes -= frame.bytes
        // What a burst took is given back: most connections have no second one.
        if frames.isEmpty { frames = [] }
        return frame
    }

    /// Puts the last frames in, whatever the limits say, and ends the queue.
    ///
    /// `discarding` drops what is in it first.
    mutating func finish(with last: [OutboundFrame], discarding: Bool) {
        guard !isFinished else { return }
        if discarding { (frames, bytes) = ([], 0) }
        for frame in last { append(frame) }
        isFinished = true
    }
}

/// A frame on its way to a client.
enum OutboundFrame: Hashable, Sendable {
    /// The bytes of a text: those of an event are shared by all who are told it.
    case text(ByteBuffer)
    case ping
    /// Answers a ping with its own bytes.
    case pong(ByteBuffer)
    case close(CloseCode, reason: String)

    /// A text of one connection.
    static func text(_ text: String) -> OutboundFrame { .text(ByteBuffer(string: text)) }

    /// What it counts for in a queue.
    var bytes: Int {
        switch self {
        case .text(let data), .pong(let data): data.readableBytes
        case .ping, .close: 0
        }
    }
}
