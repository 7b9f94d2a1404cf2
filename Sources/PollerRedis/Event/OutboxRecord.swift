import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient

/// An event identified by its position in the log of its item.
struct RecordedEvent {
    let item: String
    let lane: LaneID
    let seq: Int
}

/// An entry of the outbox stream.
///
/// *Shape*: ``OutboxField``.
struct OutboxRecord {
    /// `<ms>-<n>`.
    let id: String
    private(set) var item = ""
    /// The event's number in the log of its item; 0, which no event has, if the entry does not state it.
    private(set) var seq = 0
    /// The lane of the item; empty if the entry does not state it.
    private(set) var lane = ""

    /// Reads an entry of XRANGE or XREADGROUP; `nil` if it is not valid.
    init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string else {
            return nil
        }
        self.id = id
        let fields = parts[1].array ?? []
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            let value = fields[index + 1]
            switch fields[index].string.flatMap(OutboxField.init(rawValue:)) {
            case .item: item = value.string ?? ""
            case .seq: seq = value.count ?? 0
            case .lane: lane = value.string ?? ""
            case nil: break
            }
        }
    }

    /// The event that the entry identifies.
    var named: RecordedEvent {
        RecordedEvent(item: item, lane: LaneID(unchecked: lane), seq: seq)
    }

    /// Returns the entry with its event from the reply of outbox_events.lua; `nil` if the event is gone or not
    /// understood.
    func entry(_ partition: Int, logged: RedisValue) -> OutboxEntry? {
        Self.event(seq, logged).map { event in
            OutboxEntry(
                id: id,
                partition: partition,
                event: event,
                notify: Self.notify(logged.array?.last?.string ?? "")
            )
        }
    }

    /// Returns the event with a number from the reply of outbox_events.lua; `nil` if it is gone.
    static func event(_ seq: Int, _ logged: RedisValue) -> Event? {
        guard let logged = logged.array, logged.count == 4, let stored = logged[0].bytes else {
            return nil
        }
        let source = logged[1].string ?? ""
        let key = key(source: source, lane: logged[2].string ?? "")
        return PackedEvent.events(stored, of: key, source: source).first { $0.seq == seq }
    }

    /// Returns the watch of an event; `nil` if the item is not a watch.
    static func key(source: String, lane: String) -> WatchKey? {
        guard let (account, kind) = LaneID(unchecked: lane).accountAndKind else { return nil }
        return WatchKey(account: account, source: SourceID(unchecked: source), kind: kind)
    }

    /// Reads URLs that were checked before they were stored.
    static func notify(_ text: String) -> [NotifyURL] {
        text.split(separator: "\n").compactMap { try? NotifyURL(String($0)) }
    }
}
