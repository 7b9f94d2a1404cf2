import NIOHTTP1
public import PollerWire
import SafeNumbers

extension PollerClient {
    /// The maximum of attempts per part before the call fails.
    private static let restoreAttemptsMax = 5

    /// Reads one payment in archive form, signed by the server, for ``restore(_:isTrusted:retrying:)``.
    public func archived(_ name: WatchName) async throws -> Received<ArchiveLine> {
        try await send(.GET, name.path + "/archive", query: name.query).received("a line")
    }

    /// Restores ended watches from one part of an archive, with lines as `pollerctl export` writes them.
    ///
    /// A part with an invalid line restores nothing and ends with the server's problem. Its item indexes count from the
    /// first line of the call. A part without a response is sent again, which is safe, because existing watches stay
    /// unchanged.
    ///
    /// - `lines`: at most 1,000, together less than 8 MiB.
    /// - `isTrusted`: whether to restore lines that the server has not signed. It needs `watches:trust`.
    /// - `retrying`: called with the reason why a part is sent again.
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
                    // A part may take longer than a usual response when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.value()
            } catch let error as PollerError where error.isTransient {
                guard backoff.failures + 1 < Self.restoreAttemptsMax else { throw error }
                retrying(error)
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }
}

extension RestoreResult {
    /// Adds the results of two parts.
    public static func += (lhs: inout RestoreResult, rhs: RestoreResult) {
        lhs.restored = lhs.restored.addingSaturating(rhs.restored)
        lhs.present = lhs.present.addingSaturating(rhs.present)
        lhs.open = lhs.open.addingSaturating(rhs.open)
    }
}
