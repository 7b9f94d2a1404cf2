import Crypto
import HTTPTypes
import NIOCore

/// The first answer to an idempotency key.
struct IdempotencyRecord {
    /// Digest of method, path and body: the parameters the key belongs to.
    let fingerprint: SHA256Digest
    let status: Int
    let body: ByteBuffer
    let requestID: String
    /// Sandbox time.
    let storedMs: Int64

    static func fingerprint(of call: APICall) -> SHA256Digest {
        var hash = SHA256()
        hash.update(data: Array("\(call.method.rawValue) \(call.path)\n".utf8))
        hash.update(data: Array(call.body.readableBytesView))
        return hash.finalize()
    }
}
