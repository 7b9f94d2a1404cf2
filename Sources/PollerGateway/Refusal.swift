import NIOHTTP1
import Poller

/// Why a request is not served.
struct Refusal: Error, Hashable, Sendable {
    let status: HTTPResponseStatus
    /// Stable name to decide on, as the API's problems have.
    let code: String
    let detail: String

    /// RFC 9457.
    var problem: String {
        """
        {"type":"about:blank","title":\(RawJSON.literal(status.reasonPhrase)),\
        "status":\(status.code),"code":"\(code)","detail":\(RawJSON.literal(detail))}
        """
    }
}
