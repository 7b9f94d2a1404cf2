import HTTPTypes
import NIOCore

/// One request to the API, read but not yet answered.
struct APICall {
    let method: HTTPRequest.Method
    let path: String
    /// The path's segments after `/v1`.
    let segments: [Substring]
    let key: APIKey
    /// Query parameters of a GET or DELETE, form fields of a POST.
    let form: Form
    /// The body of a POST, what an idempotency key is tied to.
    let body: ByteBuffer
    let idempotencyKey: String?
    let account: String?
    let requestID: String
    /// Scheme and authority for URLs that point back at the sandbox.
    let base: String
}
