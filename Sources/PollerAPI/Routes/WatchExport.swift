import HTTPTypes
import Hummingbird
import NIOCore
import Poller
import PollerWire

/// A list of watches as a CSV file, read page by page while it is sent.
///
/// *Limits.* There is no bound on lines: the client reads as fast as it can, and each page waits for that, so the file
/// is never in memory. What is added meanwhile is not in it, since lists begin with the newest.
/// *Errors.* The first page is read before the answer begins. A store that fails later ends the connection without the
/// last chunk: a client sees that the file is not whole (RFC 9112 §8).
struct WatchExport: Sendable {
    /// Watches read at a time: as many as a page has.
    private static let pageMax = 500

    let scans: Scans
    let csv: WatchCSV

    /// The file, for somebody.
    func response(_ query: ListQuery, for caller: Caller) async throws -> Response {
        guard query.cursor == nil else {
            throw Problem(
                .invalidParameter,
                "cursor is of pages, and format=csv sends all of them; leave one of both out.",
                field: "cursor"
            )
        }
        let first = try await scans.list(query.page(limit: Self.pageMax, after: nil), for: caller)
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: csv.header))
            var page = first
            while true {
                let lines = page.items.map { csv.line(of: PollerWire.Watch($0)) }
                if !lines.isEmpty {
                    try await writer.write(ByteBuffer(string: lines.joined(separator: "")))
                }
                guard let next = page.next else { break }
                page = try await scans.list(
                    query.page(limit: Self.pageMax, after: next),
                    for: caller
                )
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/csv; charset=utf-8; header=present",
                .contentDisposition: "attachment; filename=\"payments.csv\"",
            ],
            body: body
        )
    }
}
