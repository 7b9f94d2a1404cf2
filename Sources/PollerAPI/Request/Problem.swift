import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PollerIdentity
import PollerQueue
import PollerWire

/// An error response with the cause and the correction (RFC 9457).
///
/// *Shape*: `application/problem+json`
/// ```
/// {"type":"urn:poller:problem:unknown_field","title":"…","status":400,"detail":"…",
///  "code":"unknown_field","field":"sorce","request_id":"…"}
/// ```
struct Problem: Error {
    let code: ProblemCode
    /// The error and how to correct it.
    let detail: String
    /// The location in the body or URL, if it is a single one.
    var field: String?
    /// The seconds after which a retry may succeed.
    var retryAfterSeconds: Int?
    /// The allowed methods, for a 405.
    var allowedMethods: [String] = []
    /// The errors of single items of a batch.
    var errors: [ProblemReport.Item] = []
    /// The number of invalid items, which may be larger than `errors` lists.
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

    func response(requestID: String) -> Response {
        var report = ProblemReport()
        report.type = "urn:poller:problem:\(code.rawValue)"
        report.title = code.title
        report.status = code.status.code
        report.detail = detail
        report.code = code.rawValue
        report.field = field
        if !errors.isEmpty {
            report.errors = errors
            report.errorsTotal = errorsTotal
        }
        report.requestID = requestID
        var response = Response(report, status: code.status)
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
    init(_ object: some WireObject, status: HTTPResponse.Status = .ok) {
        self.init(json: object.json, status: status)
    }

    /// Creates a response with JSON text.
    init(json: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json))
        )
    }
}

extension Problem {
    /// Creates the problem that the client sees, and logs the details for operators.
    init(_ error: any Error, logger: Logger) {
        switch error {
        case let problem as Problem: self = problem
        case let invalid as InvalidInput: self.init(.invalidValue, invalid)
        case let store as StoreError: self.init(store, logger: logger)
        case is NIOTooManyBytesError:
            self.init(
                .bodyTooLarge,
                "The body is larger than this route allows. Split it into several requests."
            )
        default:
            logger.error("request failed", metadata: ["error": "\(error)"])
            self.init(
                .internalError,
                "Try again. If the error persists, give the operator the request_id of "
                    + "this response."
            )
        }
    }

    /// Returns the problem of a parameter in the URL; the detail begins with its name.
    static func parameter(_ name: String, _ message: String) -> Problem {
        Problem(.invalidParameter, InvalidInput(name, message))
    }

    /// Returns the problem of a value in the body; the detail begins with its field.
    static func value(_ field: String, _ message: String) -> Problem {
        Problem(.invalidValue, InvalidInput(field, message))
    }

    /// Returns the problem of a missing field or parameter; the detail begins with its name.
    static func missing(_ field: String, _ message: String) -> Problem {
        Problem(.missingField, InvalidInput(field, message))
    }

    /// The problem of a cursor that no page has given.
    static let invalidCursor = parameter(
        "cursor",
        "is invalid: use next of the previous page, unchanged."
    )

    /// Creates the problem of a value that violates a rule of its type.
    init(_ code: ProblemCode, _ invalid: InvalidInput) {
        self.init(code, "\(invalid.field) \(invalid.message)", field: invalid.field)
    }

    private init(_ error: StoreError, logger: Logger) {
        switch error {
        case .unavailable(let reason, _):
            logger.warning("store unavailable", metadata: ["error": "\(reason)"])
            self.init(
                .storeUnavailable,
                "Send the request again after a moment: repeating it is safe.",
                retryAfterSeconds: 1
            )
        case .full:
            logger.warning("store full")
            self.init(
                .storeFull,
                "Send the request again later; watches that were accepted before are "
                    + "still polled.",
                retryAfterSeconds: 10
            )
        case .unknownCursor:
            self.init(
                .invalidParameter,
                "cursor does not belong to this list: use next of a page, or leave it "
                    + "out to start again.",
                field: "cursor"
            )
        case .keyMissing(let reason):
            logger.error("no secret is kept", metadata: ["error": "\(reason)"])
            self.init(
                .masterKeyMissing,
                "The store is encrypted with the master key, and this server does not "
                    + "have it. Ask an operator to set POLLER_MASTER_KEY. Nothing was "
                    + "written; another server may accept the request.",
                retryAfterSeconds: 10
            )
        case .corrupt(let reason), .outOfOrder(let reason):
            logger.error("store corrupt", metadata: ["error": "\(reason)"])
            self.init(
                .storeCorrupt,
                "An operator must check the store. Give them the request_id of this response."
            )
        }
    }
}
