import HTTPTypes
import NIOCore

/// One request to the API, read but not yet answered.
struct APICall: Sendable {
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
    /// The connected account acted for; nil is the platform's own.
    var account: String?
    /// Scheme and authority for URLs that point back at the sandbox.
    let base: String

    /// The segment with that number; empty when the path is shorter.
    func segment(_ number: Int) -> String {
        number < segments.count ? String(segments[number]) : ""
    }

    /// The named operation, which is what Stripe's limits count: `GET sources`, whatever the id.
    var endpoint: String {
        let names = segments.enumerated().map { $0.offset % 2 == 0 ? $0.element : "*" }
        return "\(method.rawValue) \(names.joined(separator: "/"))"
    }
}
