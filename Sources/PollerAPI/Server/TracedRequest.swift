import HTTPTypes
import Hummingbird
import Poller
import PollerIdentity

/// The span of a request to enqueue, for as long as it is answered.
struct EnqueueTracing: Sendable {
    /// Nil where nothing is traced: what a caller has told is passed on all the same.
    let tracer: (any WorkTracer)?
    /// When it begins and ends.
    let now: @Sendable () -> Timestamp

    /// Answers a request, which its caller has told the trace of.
    ///
    /// `answer` is given what is to be kept with the watches: nothing where the caller has told nothing, since
    /// a watch would carry a trace that nobody looks for.
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
                // What the caller has done wrong is no failure of ours.
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
    /// The trace that the request belongs to; nil where it says none, or what the standard calls invalid.
    static var traceparent: Self {
        let parameter = RouteParameter(
            name: "traceparent",
            place: .header,
            description: """
                The trace that the request belongs to (W3C Trace Context). It is kept with the watch, and \
                its events and webhooks carry it on. What is not valid is passed over.
                """,
            schema: ["type": "string"]
        )
        return Self([parameter]) { values in
            values.header(.traceparent).flatMap { TraceContext(traceparent: $0) }
        }
    }
}
