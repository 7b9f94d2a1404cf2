import HTTPTypes
import Hummingbird
import Logging
import Metrics
import NIOHTTP1
import PollerIdentity
import Synchronization

/// Turns errors into problems, and adds a request ID to each response, which it counts and logs without secrets.
///
/// Metrics are labelled with the route's pattern, never with the path: paths come from clients, and each would create a
/// series in this process and in Prometheus. Neither query nor body is logged, because both may contain a customer's
/// secret. Responses are not cacheable by default, because they show the current state. Routes with content that is the
/// same for all clients set their own header.
///
/// A 404 of the router may be a route with another method. It becomes a 405 with the allowed methods, but only after
/// ``KeyMiddleware``: without a key both are a 401.
struct AnswerMiddleware: RouterMiddleware {
    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    let clock: any Clock<Duration>
    let table: RouteTable
    let metrics = RequestMetrics()

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let elapsed = clock.stopwatch()
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as HTTPParserError {
            // The input is not HTTP. The framework reports it and ends the connection.
            throw error
        } catch {
            response = problem(for: error, request, context)
                .response(requestID: context.requestID)
        }
        response.headers[.requestID] = context.requestID
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers[.xContentTypeOptions] = "nosniff"
        record(request, context, status: response.status.code, took: elapsed())
        return response
    }

    private func problem(
        for error: any Error,
        _ request: Request,
        _ context: APIContext
    ) -> Problem {
        guard let error = error as? HTTPError, error.status == .notFound else {
            return Problem(error, logger: context.logger)
        }
        let methods = table.methods(at: request.uri.path)
        guard !methods.isEmpty else {
            return Problem(.notFound, "GET /openapi.json lists the routes.")
        }
        var problem = Problem(
            .methodNotAllowed,
            "This path supports \(methods.joined(separator: ", "))."
        )
        problem.allowedMethods = methods
        return problem
    }

    private func record(_ request: Request, _ context: APIContext, status: Int, took: Duration) {
        let name = request.method.rawValue
        let method = Self.methods.contains(name) ? name : "other"
        let route = context.endpointPath ?? "none"
        metrics.record(RequestMetrics.Series(method: method, route: route, status: status), took)
        context.logger.debug(
            "request answered",
            metadata: [
                "http.method": "\(method)", "http.route": "\(route)", "http.status": "\(status)",
                "http.duration_ms": "\(took.ms)",
            ]
        )
    }
}

/// The metrics of requests, made once for each method, route and status.
///
/// The registry finds a metric by its rendered labels, which costs more than a small request.
///
/// The first ``detailedMax`` combinations have their own counter, and further ones are counted by their status alone.
/// Otherwise they would exceed the registry's limit and lose the status too. A 5xx usually comes late, so the alert on
/// it would stay silent. Durations are kept by route only, and there are fewer routes than the limit.
final class RequestMetrics: Sendable {
    /// The labels of a request.
    struct Series: Hashable {
        let method: String
        /// The pattern of the route, or `none`.
        let route: String
        let status: Int
    }

    /// The number of combinations with their own method and route.
    ///
    /// A metric has at most 200 series (`PrometheusRegistry.seriesMax`). The other fifty are enough for every status that
    /// the API answers.
    private static let detailedMax = 150

    private let known = Mutex<[Series: (count: Counter, duration: Timer)]>([:])

    /// Counts a response and its duration.
    func record(_ series: Series, _ duration: Duration) {
        let metrics = known.withLock { known in
            if let metrics = known[series] { return metrics }
            let isDetailed = known.count < Self.detailedMax
            let labels = [
                ("method", isDetailed ? series.method : "other"),
                ("route", isDetailed ? series.route : "other"),
                ("status", String(series.status)),
            ]
            let route = [("route", series.route)]
            let metrics = (
                Counter(label: "poller_http_requests_total", dimensions: labels),
                Timer(label: "poller_http_request_duration_seconds", dimensions: route)
            )
            known[series] = metrics
            return metrics
        }
        metrics.count.increment()
        metrics.duration.recordMilliseconds(duration.ms)
    }
}

extension HTTPField.Name {
    /// The ID of the request, in every response.
    static let requestID = Self.known("X-Request-Id")
    /// The client's ID of a request that it may repeat.
    static let idempotencyKey = Self.known("Idempotency-Key")
    /// Marks a response as that of an earlier request.
    static let idempotentReplayed = Self.known("Idempotent-Replayed")
    /// The trace of a request.
    static let traceparent = Self.known("traceparent")
    /// The signature of a body from Stripe.
    static let stripeSignature = Self.known("Stripe-Signature")

    /// The referrer that a page sends to the pages it links to.
    static let referrerPolicy = Self.known("Referrer-Policy")

    /// The permissions of search engines for a page.
    static let robotsTag = Self.known("X-Robots-Tag")

    /// The second and further hosts of a request.
    ///
    /// The first `Host` is the request's authority.
    static let otherHost = Self.known("Host")
    /// The header that the console's own scripts send.
    static let pollerConsole = Self.known("Poller-Console")
    /// The browser's statement of a request's origin.
    static let secFetchSite = Self.known("Sec-Fetch-Site")

    private static func known(_ name: String) -> Self {
        guard let name = Self(name) else {
            preconditionFailure("the names here are tokens of RFC 9110 §5.6.2")
        }
        return name
    }
}
