import HTTPTypes
import Hummingbird
import Poller

/// An answer that says what went wrong and what to do, as RFC 9457 asks.
///
/// *Shape*: `application/problem+json`
/// ```
/// {"type":"urn:poller:problem:unknown_field","title":"…","status":400,"detail":"…",
///  "code":"unknown_field","field":"sorce","request_id":"…"}
/// ```
struct Problem: Error {
    let code: ProblemCode
    /// What is wrong here and what would be right.
    let detail: String
    /// Where in the body or URL, when it is one place.
    var field: String?
    /// Seconds after which a repeat may work.
    var retryAfterSeconds: Int?
    /// Methods the route has, for 405.
    var allowedMethods: [String] = []
    /// What is wrong with single items of a batch, each a JSON object.
    var errors: [RawJSON] = []
    /// How many items are wrong; more than `errors` lists when there are many.
    var errorsTotal = 0

    init(
        _ code: ProblemCode,
        _ detail: String,
        field: String? = nil,
        retryAfterSeconds: Int? = nil
    ) {
        self.code = code
        self.detail = detail
        self.field = field
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// The answer on the wire.
    func response(requestID: String) -> Response {
        var json = JSONObject()
        json.add("type", "urn:poller:problem:\(code.rawValue)")
        json.add("title", code.title)
        json.add("status", code.status.code)
        json.add("detail", detail)
        json.add("code", code.rawValue)
        if let field { json.add("field", field) }
        if !errors.isEmpty {
            json.add("errors", raw: JSONObject.array(errors.map(\.description)))
            json.add("errors_total", errorsTotal)
        }
        json.add("request_id", requestID)
        var response = Response(json: json.text, status: code.status)
        response.headers[.contentType] = "application/problem+json"
        if let retryAfterSeconds { response.headers[.retryAfter] = String(retryAfterSeconds) }
        if !allowedMethods.isEmpty {
            response.headers[.allow] = allowedMethods.joined(separator: ", ")
        }
        if code == .unauthenticated { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension Response {
    /// An answer of JSON text.
    init(json: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json))
        )
    }
}
