import NIOCore

/// An answer of the API before it becomes HTTP.
struct APIReply {
    var status: Int
    var body: ByteBuffer
    /// The request this answers.
    var requestID = ""
    /// The request whose stored answer this is, when an idempotency key was used again.
    var originalRequestID: String?
    /// Which limit was hit.
    var limitReason: String?
    /// Advice for the client; nil lets it decide by the status.
    var shouldRetry: Bool?
    /// Whether execution began, so that an idempotency key keeps the answer.
    var hasBegun: Bool

    init(status: Int = 200, body: ByteBuffer) {
        self.status = status
        self.body = body
        hasBegun = status == 200
    }

    init(status: Int = 200, body: [UInt8]) {
        self.init(status: status, body: ByteBuffer(bytes: body))
    }
}
