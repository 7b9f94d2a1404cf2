import Logging
import PollerIdentity
import PollerQueue
import PollerTracing

/// The tracing of a process.
extension Node {
    /// Creates the trace export, or returns `nil` if no collector is configured.
    static func traces(
        of roles: Set<Role>,
        _ settings: Settings,
        as owner: OwnerID,
        clock: ContinuousClock,
        _ logger: Logger
    ) -> TraceExport? {
        guard let traces = settings.traces else { return nil }
        // A notifier usually includes a gateway. A process with all roles keeps the plain service name.
        let own = roles.count == 1 ? roles : roles.subtracting([.gateway])
        let role = own.count == 1 ? own.first.map { "-\($0.rawValue)" } : nil
        var logger = logger
        logger[metadataKey: "part"] = "traces"
        return TraceExport(
            to: traces.collector,
            of: TracedProcess(
                service: traces.service ?? "pollerd" + (role ?? ""),
                instance: "\(owner)",
                version: Release.version
            ),
            clock: clock,
            logger: logger
        )
    }
}

extension OptionReader {
    /// Reads the trace collector, or returns `nil` if none is configured.
    func collector() throws(ConfigurationError) -> OTLPCollector? {
        let headers = text("otlp_headers") ?? ""
        guard text("otlp_endpoint")?.isEmpty == false else { return nil }
        let endpoint = try httpURL("otlp_endpoint")
        let authority = text("otlp_endpoint")?.split(separator: "/").dropFirst().first ?? ""
        guard !authority.contains("@") else {
            throw wrong(
                "otlp_endpoint",
                "must not contain a user: set the collector's key in otlp_headers"
            )
        }
        do throws(InvalidInput) {
            return try OTLPCollector(endpoint: endpoint, headers: headers)
        } catch {
            throw wrong("otlp_headers", error.message)
        }
    }
}
