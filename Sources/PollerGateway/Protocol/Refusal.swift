import JSONText
import NIOHTTP1

/// The rejection of a request.
struct Refusal: Error, Hashable, Sendable {
    let status: HTTPResponseStatus
    /// A stable code for programs, as in the API's problems.
    let code: String
    let detail: String
    /// The time after which the request may succeed.
    var retryAfter: Duration?

    /// The body (RFC 9457).
    var problem: String {
        """
        {"type":"about:blank","title":\(JSONWriter.literal(status.reasonPhrase)),\
        "status":\(status.code),"code":"\(code)","detail":\(JSONWriter.literal(detail))}
        """
    }
}
