import Poller
import PollerIdentity
import PollerQueue
import RedisClient

/// An event that is named by its place in the log of its item.
struct RecordedEvent {
    let item: String
    let lane: LaneID
    let seq: Int
}

/// An entry of the outbox as its stream has it.
///
/// *Shape*: ``OutboxField``.
struct OutboxRecord {
    /// `<ms>-<n>`.
    let id: String
    private(set) var item = ""
    /// The event's number in the log of its item; 0, which none has, of an entry that does not say.
    private(set) var seq = 0
    /// The lane of the item; empty where it is not said.
    private(set) var lane = ""

    /// Reads an entry of XRANGE or XREADGROUP; nil when it is none.
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

    /// The event that it names.
    var named: RecordedEvent {
        RecordedEvent(item: item, lane: LaneID(unchecked: lane), seq: seq)
    }

    /// The entry with its event, which recorded.lua has answered; nil when that is not understood, or gone.
    func entry(_ partition: Int, told: RedisValue) -> OutboxEntry? {
        Self.event(seq, told).map { event in
            OutboxEntry(
                id: id,
                partition: partition,
                event: event,
                notify: Self.notify(told.array?.last?.string ?? "")
            )
        }
    }

    /// The event of that number that recorded.lua has answered; nil when it is gone.
    static func event(_ seq: Int, _ told: RedisValue) -> Event? {
        guard let told = told.array, told.count == 4, let stored = told[0].bytes else {
            return nil
        }
        let key = key(source: told[1].string ?? "", lane: told[2].string ?? "")
        return PackedEvent.events(stored, of: key).first { $0.seq == seq }
    }

    /// Whose an event is; nil of what is no watch.
    static func key(source: String, lane: String) -> WatchKey? {
        guard let (account, kind) = LaneID(unchecked: lane).accountAndKind else { return nil }
        return WatchKey(account: account, source: SourceID(unchecked: source), kind: kind)
    }

    /// Reads URLs this system checked when it stored them.
    static func notify(_ text: String) -> [NotifyURL] {
        text.split(separator: "\n").compactMap { try? NotifyURL(String($0)) }
    }
}
