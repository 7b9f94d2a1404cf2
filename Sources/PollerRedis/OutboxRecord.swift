import Poller
import RedisClient

/// An entry of the outbox stream.
///
/// *Shape*: `i` the item, `e` the event's JSON, `n` notify URLs by newline.
enum OutboxRecord {
    /// Reads an entry of XRANGE or XREADGROUP; nil when it is none of ours.
    static func entry(_ value: RedisValue, partition: Int) -> OutboxEntry? {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string,
            let fields = parts[1].array
        else { return nil }
        var event: Event?
        var urls = ""
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            switch fields[index].string {
            case "e": event = fields[index + 1].string.flatMap(Event.init(json:))
            case "n": urls = fields[index + 1].string ?? ""
            default: break
            }
        }
        guard let event else { return nil }
        return OutboxEntry(id: id, partition: partition, event: event, notify: notify(urls))
    }

    /// Reads URLs this system checked when it stored them.
    static func notify(_ text: String) -> [NotifyURL] {
        text.split(separator: "\n").compactMap { try? NotifyURL(String($0)) }
    }
}
