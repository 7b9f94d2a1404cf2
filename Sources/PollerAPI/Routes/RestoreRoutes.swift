import HTTPTypes
import Hummingbird
import JSONText
import Poller
import PollerWire

/// The way back of an archive: watches that have ended, with what was told of them.
///
/// All lines are checked before any is put back, since half a part would leave the client to find out which half.
/// What is there already stays as it is, so a part that is sent again does what the first time has left.
struct RestoreRoutes {
    /// Lines of a part: as many as make a Redis work for a tenth of a second, in turns.
    static let linesMax = 1000
    /// Wrong lines told one by one; who gets twenty wrong has one cause.
    private static let errorsListedMax = 20
    /// What a line may hold: a hundred events with an upstream's object each.
    private static let limits = JSONLimits(
        depthMax: 4 * JSONScanner.depthMax,
        valuesMax: 400_000,
        membersMax: 1024
    )

    private static let restore = Route(
        .post,
        "/v1/watches/batch/restore",
        "restoreWatches",
        "Put back watches that have ended, as pollerctl export has written them",
        """
        A line each, an object with watch and events; anything else is passed over. They are closed as they \
        were, and found and read as before; nobody is told anything, and nothing is polled. All lines are \
        checked before any is put back. What is there already stays as it is: repeating is safe.
        """,
        access: .key(.restoreWatches),
        repeats: .byNature("what is there already stays as it is"),
        body: RouteBody(
            content: [
                (
                    "application/json",
                    [
                        "type": "object", "required": ["watch", "events"],
                        "properties": [
                            "watch": ["type": "object"],
                            "events": ["type": "array", "items": ["type": "object"]],
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
            description: "One line, or several; at most 8 MiB.",
            aliases: ["application/jsonl"],
            bytesMax: BodyReader.batchBytesMax
        ),
        answers: [.ok("What became of them.", "RestoreResult")]
    )

    let watches: any WatchStore
    let reader: BodyReader

    var routes: [AnsweredRoute] { [Self.restore.answered(by: restore)] }

    @Sendable
    private func restore(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let bytes = try await reader.read(request, bytesMax: BodyReader.batchBytesMax)
        var result = RestoreResult()
        let archived = try Self.lines(bytes, for: context.caller, open: &result.open)
        let outcomes = try await watches.restore(archived)
        let restored = zip(archived, outcomes).filter(\.1).map(\.0.watch.key)
        result.restored = restored.count
        result.present = archived.count - restored.count
        if restored.isEmpty { context.changes.nothing() }
        for (account, keys) in Dictionary(grouping: restored, by: \.account) {
            let name = keys.count == 1 ? keys[0].source.description : "\(keys.count) watches"
            context.changes.did(
                AuditTarget(.watch, name),
                of: account,
                to: ["state": "closed"]
            )
        }
        return Response(result)
    }

    /// The watches of all lines that had ended; empty lines are passed over.
    ///
    /// `open`: counts those that had not.
    private static func lines(
        _ bytes: [UInt8],
        for caller: Caller,
        open: inout Int
    ) throws -> [ArchivedWatch] {
        var archived: [ArchivedWatch] = []
        var errors: [ProblemReport.Item] = []
        var errorsTotal = 0
        var (index, start) = (0, 0)
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            let range = start..<end
            start = end + 1
            if bytes[range].allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            guard index < linesMax else {
                throw Problem(
                    .invalidValue,
                    "A part holds at most \(linesMax) lines; send several parts."
                )
            }
            do throws(Problem) {
                let line = try Problem.checkedJSON(bytes, range, limits: limits)
                if let watch = try ArchivedWatch(line, for: caller) {
                    archived.append(watch)
                } else {
                    open += 1
                }
            } catch {
                errorsTotal += 1
                if errors.count < errorsListedMax {
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
                "\(errorsTotal) of \(index) lines are wrong; correct them and send the part again. "
                    + "Nothing of it was put back."
            )
            problem.errors = errors
            problem.errorsTotal = errorsTotal
            throw problem
        }
        return archived
    }
}
