import NIOHTTP1
public import PollerWire
import SafeNumbers

extension PollerClient {
    /// Tries of one part before the whole is given up.
    private static let restoreTriesMax = 5

    /// Reads one payment as an archive has it, signed by the server: for ``restore(_:isTrusted:retrying:)``.
    public func archived(_ name: WatchName) async throws -> Received<ArchiveLine> {
        try await send(.GET, name.path + "/archive", query: name.query).received("a line")
    }

    /// Puts back watches that have ended, of one part of an archive: lines as `pollerctl export` writes them.
    ///
    /// A part with a wrong line puts nothing back and ends with the server's problem, whose items count
    /// from the first line given here. A part without an answer is sent again, which is safe: what is there
    /// already stays as it is.
    ///
    /// - `lines`: at most 1,000, together less than 8 MiB.
    /// - `isTrusted`: whether lines that the server has not signed are restored, too; needs `watches:trust`.
    /// - `retrying`: told why a part is sent again.
    public func restore(
        _ lines: [String],
        isTrusted: Bool = false,
        retrying: @Sendable (PollerError) -> Void = { _ in }
    ) async throws -> RestoreResult {
        let body = lines.joined(separator: "\n")
        var backoff = Backoff()
        while true {
            do {
                let answer = try await send(
                    .POST,
                    "/v1/watches/batch/restore",
                    query: [("trust", isTrusted ? "true" : nil)],
                    body: body,
                    type: "application/x-ndjson",
                    // A part may take longer than a usual answer when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.value()
            } catch let error as PollerError where error.isTransient {
                guard backoff.failures + 1 < Self.restoreTriesMax else { throw error }
                retrying(error)
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }
}

extension RestoreResult {
    /// What became of two parts together.
    public static func += (lhs: inout RestoreResult, rhs: RestoreResult) {
        lhs.restored = lhs.restored.addingSaturating(rhs.restored)
        lhs.present = lhs.present.addingSaturating(rhs.present)
        lhs.open = lhs.open.addingSaturating(rhs.open)
    }
}
