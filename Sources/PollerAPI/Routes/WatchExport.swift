import HTTPTypes
import Hummingbird
import NIOCore
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire

/// A list of watches as a CSV file, read page by page while it is sent.
///
/// *Limits.* The number of lines has no limit. The client reads as fast as it can, and each page waits for the client,
/// so the file is never in memory as a whole. Watches added during the export are not in it, since lists begin with the
/// newest. Before each page the export checks that the caller's key is still valid and the client still connected. It
/// fails if a filter matches nothing in ``emptyPagesMax`` consecutive pages.
/// *Errors.* The first page is read before the response begins. A later failure (the store, a revoked key) ends the
/// connection without the last chunk, so a client sees that the file is incomplete (RFC 9112 §8). If the queue of
/// searches is full (``ScanGate``), a file that has begun waits.
struct WatchExport: Sendable {
    /// The watches per read, the same as a page.
    private static let pageMax = 500
    /// About two million records without a match.
    private static let emptyPagesMax = 1000
    /// The wait before a full queue is tried again.
    private static let pause = Duration.seconds(1)

    let scans: Scans
    let csv: WatchCSV
    /// Throws if the caller's key is no longer valid.
    let recheck: @Sendable () throws(Problem) -> Void

    /// Returns the file for a caller.
    func response(_ query: ListQuery, for caller: Caller) async throws -> Response {
        guard query.cursor == nil else {
            throw Problem.parameter(
                "cursor",
                "is for pages, and format=csv sends all watches; leave one of them out."
            )
        }
        let first = try await scans.list(query.page(limit: Self.pageMax, after: nil), for: caller)
        let body = ResponseBody { writer in
            // The pages take too long for the event loop, on which responses are written.
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await writer.write(ByteBuffer(string: csv.header))
                var page = first
                var emptyPages = 0
                while true {
                    let lines = page.items.map { csv.line(of: PollerWire.Watch($0)) }
                    // Also for an empty page: the write then sends nothing, and fails if the client has disconnected.
                    try await writer.write(ByteBuffer(string: lines.joined(separator: "")))
                    guard let next = page.next else { break }
                    emptyPages = lines.isEmpty ? emptyPages + 1 : 0
                    guard emptyPages < Self.emptyPagesMax else {
                        throw Problem(
                            .tooManyRequests,
                            "No watch was found among too many: request a range of days."
                        )
                    }
                    let following = query.page(limit: Self.pageMax, after: next)
                    while true {
                        try recheck()
                        if let found = try await scans.listUnlessBusy(following, for: caller) {
                            page = found
                            break
                        }
                        try await Task.sleep(for: Self.pause)
                        try await writer.write(ByteBuffer())
                    }
                }
                try await writer.finish(nil)
            }
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
