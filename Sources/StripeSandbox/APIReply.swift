import NIOCore

/// An answer of the API before it becomes HTTP.
struct APIReply {
    var status: Int
    var body: ByteBuffer
    /// The request whose stored answer this is, when an idempotency key was used again.
    var originalRequestID: String?

    init(status: Int = 200, body: ByteBuffer) {
        self.status = status
        self.body = body
    }

    init(status: Int = 200, body: [UInt8]) {
        self.init(status: status, body: ByteBuffer(bytes: body))
    }
}
