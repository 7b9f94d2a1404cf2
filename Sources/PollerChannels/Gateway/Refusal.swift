import NIOHTTP1
import Poller

/// Why a request is not served.
struct Refusal: Hashable, Sendable {
    let status: HTTPResponseStatus
    let detail: String

    /// RFC 9457.
    var problem: String {
        """
        {"type":"about:blank","title":\(RawJSON.literal(status.reasonPhrase)),\
        "status":\(status.code),"detail":\(RawJSON.literal(detail))}
        """
    }
}
