import HTTPTypes
import Hummingbird

/// Every route of the API; `openapi.json` describes exactly these.
enum Route: String, CaseIterable {
    case enqueue = "POST /v1/watches"
    case enqueueBatch = "POST /v1/watches/batch"
    case listWatches = "GET /v1/watches"
    case getWatch = "GET /v1/watches/{source}"
    case pollWatch = "POST /v1/watches/{source}/poll"
    case cancelWatch = "DELETE /v1/watches/{source}"
    case watchEvents = "GET /v1/watches/{source}/events"
    case explainWatch = "GET /v1/watches/{source}/explain"
    case events = "GET /v1/events"
    case createEndpoint = "POST /v1/endpoints"
    case listEndpoints = "GET /v1/endpoints"
    case getEndpoint = "GET /v1/endpoints/{endpoint}"
    case changeEndpoint = "PATCH /v1/endpoints/{endpoint}"
    case removeEndpoint = "DELETE /v1/endpoints/{endpoint}"
    case testEndpoint = "POST /v1/endpoints/{endpoint}/test"
    case rotateEndpoint = "POST /v1/endpoints/{endpoint}/rotate"
    case enableEndpoint = "POST /v1/endpoints/{endpoint}/enable"
    case disableEndpoint = "POST /v1/endpoints/{endpoint}/disable"
    case endpointSecret = "GET /v1/endpoints/{endpoint}/secret"
    case startReplay = "POST /v1/endpoints/{endpoint}/replay"
    case getReplay = "GET /v1/endpoints/{endpoint}/replay"
    case listDeliveries = "GET /v1/deliveries"
    case getDelivery = "GET /v1/deliveries/{delivery}"
    case deliveryAttempts = "GET /v1/deliveries/{delivery}/attempts"
    case retryDelivery = "POST /v1/deliveries/{delivery}/retry"
    case listLanes = "GET /v1/lanes"
    case getLane = "GET /v1/lanes/{lane}"
    case pauseLane = "POST /v1/lanes/{lane}/pause"
    case resumeLane = "POST /v1/lanes/{lane}/resume"
    case limitLane = "POST /v1/lanes/{lane}/limit"
    case listQuarantine = "GET /v1/quarantine"
    case redrive = "POST /v1/quarantine/{source}/redrive"
    case stripeWebhook = "POST /v1/stripe/webhook"
    case stripeAccountWebhook = "POST /v1/stripe/webhook/{account}"
    case streamToken = "POST /v1/stream_tokens"
    case reportBounce = "POST /v1/mail/bounces"
    case getSuppression = "GET /v1/mail/suppressions/{recipient}"
    case liftSuppression = "DELETE /v1/mail/suppressions/{recipient}"
    case workers = "GET /v1/workers"
    case stats = "GET /v1/stats"
    case doctor = "GET /v1/doctor"
    case openAPI = "GET /openapi.json"
    case returnLanding = "GET /r"
    case returnPage = "GET /r/{source}"
    case returnState = "GET /r/{source}/state"
    case unsubscribePage = "GET /u/{token}"
    case unsubscribe = "POST /u/{token}"
    case dashboard = "GET /"

    /// Whom a route is for.
    enum Access {
        /// Holders of an API key; where there are no keys, whoever is on this machine.
        case key
        /// Whoever reaches the server; where there are no keys, that is this machine, too.
        case anybody
        /// Whoever signs what they send, with or without keys: Stripe has no key of ours and calls
        /// us by a public name.
        case signed
    }

    /// Whom it is for: a route that is not named here wants a key.
    var access: Access {
        switch self {
        case .stripeWebhook, .stripeAccountWebhook: .signed
        // They hold nothing secret.
        case .openAPI, .dashboard: .anybody
        // What they show is behind a secret of the customer's own, in the request.
        case .returnLanding, .returnPage, .returnState, .unsubscribePage, .unsubscribe: .anybody
        default: .key
        }
    }

    /// The HTTP method.
    var method: HTTPRequest.Method {
        HTTPRequest.Method(methodName) ?? .get
    }

    /// The path with `{source}` for a segment that varies.
    var path: String { String(rawValue[rawValue.index(after: space)...]) }

    /// All paths it answers at: a lane's slash may stand as it is or as `%2F`.
    var paths: [String] {
        let twoSegments = path.replacing("{lane}", with: "{lane}/{endpoint}")
        return twoSegments == path ? [path] : [path, twoSegments]
    }

    private var methodName: String { String(rawValue[..<space]) }

    private var space: String.Index { rawValue.firstIndex(of: " ") ?? rawValue.startIndex }

    /// The route that the router has found, by its pattern and the method; nil for none of ours.
    static func matched(_ pattern: String?, _ method: HTTPRequest.Method) -> Route? {
        pattern.flatMap { byPattern["\(method.rawValue) \($0)"] }
    }

    private static let byPattern = Dictionary(
        uniqueKeysWithValues: allCases.flatMap { route in
            route.paths.map { ("\(route.methodName) \($0)", route) }
        }
    )

    /// The methods of the routes at this path, for 405.
    ///
    /// As in the router, a segment of a pattern that is written out goes before one that varies:
    /// `/v1/watches/batch` is no source.
    static func methods(at path: String) -> [String] {
        let segments = path.split(separator: "/")
        let fitting = Set(allCases.flatMap(\.paths)).filter { path in
            let pattern = path.split(separator: "/")
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        // `{` is behind every letter.
        guard let nearest = fitting.min() else { return [] }
        return allCases.filter { $0.paths.contains(nearest) }.map(\.methodName)
    }
}

extension Router<APIContext> {
    /// Adds a route with what answers it.
    func add(
        _ route: Route,
        _ answer: @escaping @Sendable (Request, APIContext) async throws -> Response
    ) {
        for path in route.paths { on(RouterPath(path), method: route.method, use: answer) }
    }
}
