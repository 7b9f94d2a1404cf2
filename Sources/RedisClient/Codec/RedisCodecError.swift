/// Why the bytes of a server cannot be read; the connection is useless afterwards.
enum RedisCodecError: Error, Hashable {
    /// A reply exceeds a limit.
    case tooLarge(String)
    /// The bytes are not RESP2.
    case malformed(String)

    /// What the command learns whose reply it was.
    var commandError: RedisError {
        switch self {
        case .tooLarge(let detail): .replyTooLarge(detail)
        case .malformed(let detail): .protocolError(detail)
        }
    }
}
