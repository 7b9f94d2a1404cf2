import NIOCore
import NIOWebSocket

/// What a frame from a client means, once its fragments are together.
enum ClientFrame: Hashable, Sendable {
    case text(String)
    case binary(ByteBuffer)
    /// To be answered with its own bytes.
    case ping(ByteBuffer)
    case pong
    /// To be answered with these bytes.
    case close(ByteBuffer)
    /// It breaks RFC 6455; the connection ends with this code.
    case violation(CloseCode, String)

    /// Reads a frame.
    init(_ frame: WebSocketFrame) {
        let data = frame.unmaskedData
        switch frame.opcode {
        case .text:
            if let text = String(validating: data.readableBytesView, as: UTF8.self) {
                self = .text(text)
            } else {
                self = .violation(.notText, "a text message must be UTF-8")
            }
        case .binary: self = .binary(data)
        case .ping: self = .ping(data)
        case .pong: self = .pong
        case .connectionClose: self = Self.closing(data)
        default: self = .violation(.protocolError, "no such frame")
        }
    }

    /// A close frame is empty, or a code and a reason in UTF-8 (RFC 6455 §5.5.1, §7.4).
    private static func closing(_ data: ByteBuffer) -> ClientFrame {
        var rest = data
        guard rest.readableBytes > 0 else { return .close(data) }
        guard let code = rest.readInteger(as: UInt16.self) else {
            return .violation(.protocolError, "half a close code")
        }
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: return .violation(.protocolError, "no such close code")
        }
        guard String(validating: rest.readableBytesView, as: UTF8.self) != nil else {
            return .violation(.notText, "a reason must be UTF-8")
        }
        return .close(data)
    }
}
