import NIOCore

/// A frame on its way to a client.
enum OutboundFrame: Hashable, Sendable {
    case text(String)
    case ping
    /// Answers a ping with its own bytes.
    case pong(ByteBuffer)
    case close(CloseCode, reason: String)

    /// What it counts for in a queue.
    var bytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .pong(let data): data.readableBytes
        case .ping, .close: 0
        }
    }
}
