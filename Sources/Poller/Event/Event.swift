import Foundation

/// One recorded change of one source: the thing everybody downstream is told.
///
/// *Shape* (UTF-8 JSON; these bytes are stored, published, signed and sent, never re-serialised):
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","kind":"source",
///  "seq":2,"run":1,"previous_status":"pending","status":"chargeable","final":false,
///  "closed_reason":null,"object":{…},"observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}
/// ```
/// `type` is `<kind>.<status>`; `charge.<outcome>` when the source was charged, with the charge as
/// `object` and the source's own status repeated; or `watch.<closed reason>` when the watch ended without a final
/// status; then `final` is false and `status` repeats the last one seen (or null). `object` is the upstream's object
/// without any `client_secret`; null when it is larger than ``objectBytesMax``. `previous_status` is the last one told
/// before; it equals `status` when the status stayed and something else that matters changed: a try that was declined, money
/// that arrived, another next step (``Observation/detail``). Once a source was charged, its events also
/// have `"charge":{"state":"pending","id":"ch_…"}` beside `closed_reason`: how far that has come.
package struct Event: Hashable, Sendable {
    /// An object beyond this is left out: it would sit in Redis once for every change.
    package static let objectBytesMax = 65_536

    package let id: EventID
    package let type: String
    package let key: WatchKey
    package let seq: Int
    package let run: Int
    package let previousStatus: SourceStatus?
    package let status: SourceStatus?
    /// The status cannot change any more: the payment has come to its end.
    package let final: Bool
    /// Why the watch ended with this event; nil while it goes on.
    ///
    /// `settled` for a final status, `reached` for another that was all the watch was there for,
    /// any other reason when we stopped looking. No further event of this run follows.
    package let closed: ClosedReason?
    /// How far the charge of the source has come with this event.
    package let progress: ChargeProgress
    /// When the upstream was asked; for a cancellation, when that was asked for.
    package let polledAt: Timestamp
    /// The whole event as it goes over every wire.
    package let json: String
    /// Earlier events that gave way to this one at one endpoint; not part of what was recorded.
    package var skippedSeqs: [Int] = []

    /// Records a change.
    ///
    /// `lag` is how late the poll was against its due time; `closed` is set when the watch ends
    /// here, unless `final` tells that already; `charge` names what became of a charge, `progress`
    /// how far that has come, when it is not as the watch knows it.
    package init(
        watch: Watch,
        status: SourceStatus?,
        final: Bool,
        closed: ClosedReason? = nil,
        charge: ChargeSeen.Status? = nil,
        progress: ChargeProgress? = nil,
        object: RawJSON?,
        polledAt: Timestamp,
        lag: Duration
    ) {
        key = watch.key
        seq = watch.seq + 1
        run = watch.run
        previousStatus = watch.state.status
        self.status = status
        let stopped = closed == .settled || closed == .reached ? nil : closed
        self.final = final && stopped == nil && closed != .reached
        self.closed = closed ?? (final ? .settled : nil)
        self.progress = progress ?? watch.state.charge
        self.polledAt = polledAt
        type =
            stopped.map { "watch.\($0.rawValue)" }
            ?? charge.map { "charge.\($0.rawValue)" }
            ?? "\(watch.key.kind.rawValue).\(status?.description ?? "unknown")"
        id = EventID(
            key: watch.key,
            run: watch.run,
            began: watch.createdAt,
            seq: watch.seq + 1,
            type: type
        )
        let kept = object.flatMap { $0.description.utf8.count > Self.objectBytesMax ? nil : $0 }
        let shown = kept?.withoutClientSecrets()
        json = """
            {"id":"\(id)","type":\(RawJSON.literal(type)),"account":"\(key.account)",\
            "source":"\(key.source)","kind":"\(key.kind.rawValue)","seq":\(seq),"run":\(run),\
            "previous_status":\(Self.literal(previousStatus)),"status":\(Self.literal(status)),\
            "final":\(self.final),\
            "closed_reason":\(self.closed.map { "\"\($0.rawValue)\"" } ?? "null"),\
            \(Self.member(self.progress))\
            "object":\(shown?.description ?? "null"),\
            "observed":{"polled_at":"\(polledAt)","lag_ms":\(lag.ms)}}
            """
    }

    /// Reads an event back from its bytes.
    ///
    /// - Returns: nil when the text is not an event of ours.
    package init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let polledAt = Timestamp(rfc3339: wire.observed.polledAt)
        else { return nil }
        id = EventID(unchecked: wire.id)
        type = wire.type
        key = WatchKey(
            account: AccountID(unchecked: wire.account),
            source: SourceID(unchecked: wire.source),
            kind: SourceKind(recorded: wire.kind)
        )
        seq = wire.seq
        run = wire.run
        previousStatus = wire.previousStatus.map(SourceStatus.init(unchecked:))
        status = wire.status.map(SourceStatus.init(unchecked:))
        final = wire.final
        closed = wire.closedReason.flatMap(ClosedReason.init(rawValue:))
        progress = ChargeProgress(
            name: wire.charge?.state ?? "none",
            charge: wire.charge?.id.map(ChargeID.init(unchecked:))
        )
        self.polledAt = polledAt
        self.json = json
    }

    private static func literal(_ status: SourceStatus?) -> String {
        status.map { "\"\($0)\"" } ?? "null"
    }

    private static func member(_ progress: ChargeProgress) -> String {
        guard progress != .none else { return "" }
        let id = progress.charge.map { "\"\($0)\"" } ?? "null"
        return "\"charge\":{\"state\":\"\(progress.name)\",\"id\":\(id)},"
    }

    private struct Wire: Decodable {
        let id: String
        let type: String
        let account: String
        let source: String
        let kind: String
        let seq: Int
        let run: Int
        let previousStatus: String?
        let status: String?
        let final: Bool
        let closedReason: String?
        let charge: Charge?
        let observed: Observed

        struct Charge: Decodable {
            let state: String
            let id: String?
        }

        struct Observed: Decodable {
            let polledAt: String

            enum CodingKeys: String, CodingKey {
                case polledAt = "polled_at"
            }
        }

        enum CodingKeys: String, CodingKey {
            case id, type, account, source, kind, seq, run, status, final, charge, observed
            case previousStatus = "previous_status"
            case closedReason = "closed_reason"
        }
    }
}
