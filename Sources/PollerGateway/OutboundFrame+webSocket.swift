import NIOCore
import NIOWebSocket

extension OutboundFrame {
    /// The frame as a server sends it: whole, and without a mask.
    func webSocket(_ allocator: ByteBufferAllocator) -> WebSocketFrame {
        switch self {
        case .text(let text):
            return WebSocketFrame(fin: true, opcode: .text, data: allocator.buffer(string: text))
        case .ping: return WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
        case .pong(let data): return WebSocketFrame(fin: true, opcode: .pong, data: data)
        case .close(let code, let reason):
            var data = allocator.buffer(capacity: 2 + reason.utf8.count)
            data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: code.rawValue))
            // A control frame holds 125 bytes (RFC 6455 §5.5).
            data.writeString(String(reason.prefix(100)))
            return WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        }
    }
}
