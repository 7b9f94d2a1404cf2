#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PollerProblem {
    /// Reads an answer that is no success; whoever sent it, something can be said.
    init(status: Int, retryAfterSeconds: Int?, body: [UInt8]) {
        let wire = try? JSONDecoder().decode(Wire.self, from: Data(body))
        self.init(
            status: status,
            code: wire?.code ?? "http_\(status)",
            title: wire?.title ?? "The server answered \(status).",
            detail: wire?.detail ?? "",
            field: wire?.field,
            requestID: wire?.requestID,
            // A server may be wrong about this; an hour is more than anybody waits.
            retryAfter: retryAfterSeconds.map { .seconds(min(max($0, 0), 3600)) },
            items: wire?.errors ?? [],
            itemsTotal: wire?.errorsTotal ?? 0
        )
    }

    private struct Wire: Decodable {
        let code: String?
        let title: String?
        let detail: String?
        let field: String?
        let requestID: String?
        let errors: [Item]?
        let errorsTotal: Int?

        enum CodingKeys: String, CodingKey {
            case code, title, detail, field, errors
            case requestID = "request_id"
            case errorsTotal = "errors_total"
        }
    }
}
