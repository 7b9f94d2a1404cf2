import Logging

extension Logger.Metadata {
    /// Adds the trace and span IDs under their OpenTelemetry names for logs.
    package mutating func add(_ trace: TraceContext?) {
        guard let trace else { return }
        self["trace_id"] = "\(trace.traceID)"
        self["span_id"] = "\(trace.spanID)"
    }
}
