import DequeModule
import NIOCore

/// The frames that a client has not accepted yet, bounded in number and bytes.
///
/// *Problem*: a client that reads slowly, or not at all, must cost neither unbounded memory nor the events of others.
///
/// *Approach*: frames stay here while the channel is not writable, that is, while the kernel's buffer and another 64
/// KiB are full. A sender checks for room first, and events wait in the outbox meanwhile. So a burst, or a client that
/// catches up, uses no more memory than the limits. Replies are few, and a client that lets them pile up is too slow.
/// The last frames are added regardless of the limits (``finish(with:discarding:)``), so that a goodbye is always sent.
///
/// It is a value, confined to one event loop like its connection.
struct OutboundQueue {
    private let countMax: Int
    private let bytesMax: Int
    private var frames: Deque<OutboundFrame> = []
    private var bytes = 0
    /// Whether the queue accepts no more frames.
    private(set) var isFinished = false

    /// Creates a queue of at most `limits.queueMessagesMax` frames and `limits.queueBytesMax` bytes.
    ///
    /// One frame always fits into an empty queue.
    init(_ limits: GatewayLimits) {
        countMax = limits.queueMessagesMax
        bytesMax = limits.queueBytesMax
    }

    /// Whether every frame has been taken.
    var isEmpty: Bool { frames.isEmpty }

    /// Whether one more frame fits.
    ///
    /// A frame larger than the byte limit fits into an empty queue only. Otherwise it could never be sent.
    var hasRoom: Bool { frames.count < countMax && (bytes < bytesMax || frames.isEmpty) }

    /// Whether enough is free to resume reading.
    var isHalfEmpty: Bool { frames.count <= countMax / 2 && bytes <= bytesMax / 2 }

    /// Adds a frame, or does nothing if the queue has ended.
    mutating func append(_ frame: OutboundFrame) {
        guard !isFinished else { return }
        frames.append(frame)
        bytes += frame.bytes
    }

    /// Removes the oldest frame.
    mutating func take() -> OutboundFrame? {
        guard let frame = frames.popFirst() else { return nil }
        bytes -= frame.bytes
        // Frees the memory of a burst, because most connections have no second one.
        if frames.isEmpty { frames = [] }
        return frame
    }

    /// Adds the last frames regardless of the limits, and ends the queue.
    ///
    /// `discarding` drops the queued frames first.
    mutating func finish(with last: [OutboundFrame], discarding: Bool) {
        guard !isFinished else { return }
        if discarding { (frames, bytes) = ([], 0) }
        for frame in last { append(frame) }
        isFinished = true
    }
}

/// A frame on its way to a client.
enum OutboundFrame: Hashable, Sendable {
    /// The bytes of a text. All recipients of an event share them.
    case text(ByteBuffer)
    case ping
    /// The reply to a ping, with the ping's bytes.
    case pong(ByteBuffer)
    case close(CloseCode, reason: String)

    /// Creates the text of one connection.
    static func text(_ text: String) -> OutboundFrame { .text(ByteBuffer(string: text)) }

    /// The size that counts towards the queue's limit.
    var bytes: Int {
        switch self {
        case .text(let data), .pong(let data): data.readableBytes
        case .ping, .close: 0
        }
    }
}
