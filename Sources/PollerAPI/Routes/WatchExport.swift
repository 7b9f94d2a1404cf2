import HTTPTypes
import Hummingbird
import NIOCore
import Poller
import PollerWire

/// A list of watches as a CSV file, read page by page while it is sent.
///
/// *Limits.* There is no bound on lines: the client reads as fast as it can, and each page waits for that, so the file
/// is never in memory. What is added meanwhile is not in it, since lists begin with the newest.
/// Before each page it is looked whether the caller's key is still good and the client still there. A filter that finds
/// nothing in ``emptyPagesMax`` pages one after the other is given up.
/// *Errors.* The first page is read before the answer begins. What fails later (the store, a key that was revoked) ends
/// the connection without the last chunk: a client sees that the file is not whole (RFC 9112 §8). Where too many wait
/// for their turn (``ScanGate``) a file that has begun waits as well.
struct WatchExport: Sendable {
    /// Watches read at a time: as many as a page has.
    private static let pageMax = 500
    /// Some two million records without one that is looked for.
    private static let emptyPagesMax = 1000
    /// Until a queue that is full is asked again.
    private static let pause = Duration.seconds(1)

    let scans: Scans
    let csv: WatchCSV
    /// Whether the caller's key is still good.
    let recheck: @Sendable () throws(Problem) -> Void

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
            var emptyPages = 0
            while true {
                let lines = page.items.map { csv.line(of: PollerWire.Watch($0)) }
                // Also where there is none: nothing is sent then, and it fails if the client has gone.
                try await writer.write(ByteBuffer(string: lines.joined(separator: "")))
                guard let next = page.next else { break }
                emptyPages = lines.isEmpty ? emptyPages + 1 : 0
                guard emptyPages < Self.emptyPagesMax else {
                    throw Problem(
                        .tooManyRequests,
                        "Nothing was found among too many watches: ask for a range of days."
                    )
                }
                let following = query.page(limit: Self.pageMax, after: next)
                while true {
                    try recheck()
                    if let found = try await scans.listIfThereIsRoom(following, for: caller) {
                        page = found
                        break
                    }
                    try await Task.sleep(for: Self.pause)
                    try await writer.write(ByteBuffer())
                }
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
