import HTTPTypes
import Hummingbird
import PollerIdentity
import PollerOperations

/// The span of an enqueue request, until its response.
struct EnqueueTracing: Sendable {
    /// Receives spans; `nil` when tracing is disabled.
    ///
    /// A caller's trace is propagated in any case.
    let tracer: (any WorkTracer)?
    /// Returns the current time, for the start and end of the span.
    let now: @Sendable () -> Timestamp

    /// Responds to a request within the caller's trace.
    ///
    /// `answer` receives the trace to store with the watches. It is `nil` if the caller sent no trace, since no client
    /// would look for it.
    func span(
        of route: RouteDescription,
        under caller: TraceContext?,
        answer: (TraceContext?, inout SpanFacts) async throws -> Response
    ) async throws -> Response {
        var facts = SpanFacts()
        guard let tracer else { return try await answer(caller, &facts) }
        let span = tracer.begin(.enqueue, under: caller, linked: nil, at: now())
        facts.add("http.request.method", route.methodName)
        facts.add("http.route", route.path)
        do {
            let response = try await answer(caller == nil ? nil : span.context, &facts)
            facts.add("http.response.status_code", response.status.code)
            span.end(facts, at: now())
            return response
        } catch {
            if let problem = error as? Problem {
                facts.add("http.response.status_code", problem.code.status.code)
                // A client error is not a failure of the server.
                if problem.code.status.code >= 500 {
                    facts.fail(problem.code.rawValue, problem.detail)
                }
            } else {
                facts.fail("\(type(of: error))", "\(error)")
            }
            span.end(facts, at: now())
            throw error
        }
    }
}

extension RouteInput where Value == TraceContext? {
    /// The trace of the request; `nil` if it has none, or an invalid one.
    static var traceparent: Self {
        let parameter = RouteParameter(
            name: "traceparent",
            location: .header,
            description: """
                The trace of the request (W3C Trace Context). It is stored with the watch, and its events and \
                webhooks continue it. An invalid value is ignored.
                """,
            schema: ["type": "string"]
        )
        return Self([parameter]) { values in
            values.header(.traceparent).flatMap { TraceContext(traceparent: $0) }
        }
    }
}
