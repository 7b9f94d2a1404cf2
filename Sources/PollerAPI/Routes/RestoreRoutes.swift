import HTTPTypes
import Hummingbird
import JSONText
import PollerIdentity
package import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Archives: exports a payment as a signed line, and restores lines of closed payments.
///
/// A line is restored if this cluster has signed it (``ArchiveKeys``), or if the caller sets `trust=true`. That
/// requires a separate scope and is recorded in the audit trail.
///
/// All lines are checked before any is restored, so that a client need not find out which half was accepted. Existing
/// watches are left unchanged, so a repeated part restores only the missing ones.
struct RestoreRoutes {
    /// The maximum lines per part, about a tenth of a second of Redis time, in several calls.
    static let linesMax = 1000
    /// The maximum number of errors listed.
    ///
    /// More usually have the same cause.
    private static let errorsListedMax = 20
    /// The limits of a line: a hundred events with one upstream object each.
    private static let limits = JSONLimits(
        depthMax: 4 * JSONScanner.depthMax,
        valuesMax: 400_000,
        membersMax: 1024,
        // The upstream's object in an event, as recorded.
        foreignMember: "object"
    )

    private static let line = Route(
        .get,
        "/v1/watches/{source}/archive",
        "archiveWatch",
        "Read a payment as a signed archive line, for pollerctl export",
        """
        The watch with all data to restore it, its last 100 events, and a digest of both, by which this cluster \
        recognises its own lines. POST /v1/watches/batch/restore accepts it once the watch has ended.
        """,
        access: .key(.readWatches),
        input: .watch,
        answers: [.ok("The line.", "ArchiveLine")],
        problems: [404]
    )
    private static let restore = Route(
        .post,
        "/v1/watches/batch/restore",
        "restoreWatches",
        "Restore ended watches from pollerctl export",
        """
        One line per watch, an object with watch, events and digest; other members are ignored. The watches are \
        closed as before and can be found and read. Nothing is polled, and no events are delivered. All lines are \
        checked before any is restored. A line without a digest of this cluster is rejected unless trust=true. \
        Existing watches stay unchanged, so repeating is safe.
        """,
        access: .key(.restoreWatches),
        input: .flag(
            "trust",
            "Whether to restore lines that this cluster has not signed. Requires watches:trust."
        ),
        idempotency: .inherent("existing watches stay unchanged"),
        body: RouteBody(
            content: [
                (
                    "application/json",
                    [
                        "type": "object", "required": ["watch", "events"],
                        "properties": [
                            "watch": ["type": "object"],
                            "events": ["type": "array", "items": ["type": "object"]],
                            "digest": ["type": "string"],
                        ],
                    ]
                ),
                (
                    "application/x-ndjson",
                    [
                        "type": "string",
                        "description": "Lines of pollerctl export, at most 1,000 of them.",
                    ]
                ),
            ],
            description: "One or several lines; at most 8 MiB.",
            aliases: ["application/jsonl"],
            bytesMax: BodyReader.batchBytesMax
        ),
        answers: [.ok("The result.", "RestoreResult")]
    )

    let watches: any WatchStore
    let endpoints: EndpointBackend
    let archives: ArchiveKeys
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.line.answered(by: line), Self.restore.answered(by: restore)]
    }

    private func line(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        let events = try await watches.events(of: key, after: 0, limit: ArchivedWatch.eventsMax)
        return Response(ArchiveLine(snapshot, events: events, by: archives))
    }

    private func restore(
        _ isTrusted: Bool,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        if isTrusted { try context.caller.require(.trustArchives) }
        let bytes = try await reader.read(request, bytesMax: BodyReader.batchBytesMax)
        var result = RestoreResult()
        let lines = try lines(bytes, for: context.caller, isTrusted: isTrusted)
        let archived = lines.compactMap { line in line.watch.map { ($0, isSigned: line.isSigned) } }
        result.open = lines.count - archived.count
        // The lines of a part go to several partitions, so some may be restored although the part fails.
        let accounts = Set(archived.map(\.0.watch.key.account))
        let outcomes = try await context.changes.attempt(
            Self.target(archived.map(\.0)),
            of: accounts.count == 1 ? accounts.first : nil
        ) { () throws(StoreError) in try await watches.restore(archived.map(\.0)) }
        let restored = zip(archived, outcomes).filter(\.1).map(\.0)
        result.restored = restored.count
        result.present = archived.count - restored.count
        if restored.isEmpty { context.changes.recordUnchanged() }
        for (account, group) in Dictionary(grouping: restored, by: { $0.0.watch.key.account }) {
            let target = Self.target(group.map(\.0))
            let trusted = group.count { !$0.isSigned }
            context.changes.recordAction(
                target,
                of: account,
                to: trusted == 0
                    ? ["state": "closed"] : ["state": "closed", "unsigned": "\(trusted)"]
            )
        }
        return Response(result)
    }

    private static func target(_ archived: [ArchivedWatch]) -> AuditTarget {
        let first = archived.first?.watch.key.source.description ?? ""
        return AuditTarget(.watch, archived.count == 1 ? first : "\(archived.count) watches")
    }

    /// Returns all lines of a part except empty ones.
    private func lines(
        _ bytes: [UInt8],
        for caller: Caller,
        isTrusted: Bool
    ) throws -> [RestoredLine] {
        var lines: [RestoredLine] = []
        var errors: [ProblemReport.Item] = []
        var errorsTotal = 0
        var (index, start) = (0, 0)
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            let range = start..<end
            start = end + 1
            if bytes[range].allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            guard index < Self.linesMax else {
                throw Problem(
                    .invalidValue,
                    "A part may have at most \(Self.linesMax) lines; send several parts."
                )
            }
            do throws(Problem) {
                lines.append(
                    try RestoredLine(
                        Problem.checkedJSON(bytes, range, limits: Self.limits),
                        for: caller,
                        by: archives,
                        isTrusted: isTrusted,
                        endpoints: endpoints
                    )
                )
            } catch {
                errorsTotal += 1
                if errors.count < Self.errorsListedMax {
                    errors.append(ProblemReport.Item(error, index: index))
                }
            }
            index += 1
        }
        guard index > 0 else {
            throw Problem(.invalidValue, "The archive is empty: send at least one line.")
        }
        guard errors.isEmpty else {
            var problem = Problem(
                .invalidBatch,
                "\(errorsTotal) of \(index) lines are invalid; correct them and send "
                    + "the part again. Nothing was restored."
            )
            problem.errors = errors
            problem.errorsTotal = errorsTotal
            throw problem
        }
        return lines
    }
}

extension ArchiveKeys {
    /// Keys that end with this process.
    package static var ephemeral: ArchiveKeys {
        var generator = SystemRandomNumberGenerator()
        let root = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return ArchiveKeys(master: .none, root: root)
    }
}
