package import Poller
import PollerIdentity
import PollerQueue
package import RedisClient

/// Tells other services through a stream of their own in our Redis: `redis+stream:NAME`.
///
/// *Shape*: `XADD <namespace>:stream:<NAME> MAXLEN ~ 10000 * id <event id> seq <seq> event <JSON>`.
/// *Order and atomicity*: in `seq` order for each source; at least once, so that a reader drops an
/// `id` it has seen (a reply that got lost on its way is followed by the same event again).
/// *Errors*: a Redis that cannot be reached or is full is tried again; a key that is no stream is
/// the operator's to move away.
package struct RedisStreamChannel: DeliveryChannel {
    /// Entries a stream keeps: an hour at three events a second.
    ///
    /// Some 15 MiB of ordinary ones, and never more than 640 MiB. A reader further behind fills its
    /// gap by `seq` from the API.
    package static let entriesMax = 10_000

    package let schemes: Set<String> = ["redis+stream"]
    /// One command to the Redis we depend on anyway.
    package let timeout = Duration.seconds(15)
    /// A Redis that does not answer stops this notifier altogether; what is left are passing
    /// refusals, so the ordinary schedule is plenty.
    package let schedule = RetrySchedule.webhook

    private let client: RedisClient
    private let keys: Keys

    /// A channel into the streams of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        keys = layout.watchKeys
    }

    /// Services decide themselves what they need.
    package func wants(_ event: Event) -> Bool { true }

    package func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        let body = target.body(of: event)
        let command = RedisCommand(
            "XADD",
            [
                // What the URL names; its characters were checked when it was taken in.
                .string(keys.stream(named: String(target.url.host))),
                "MAXLEN", "~", RedisArgument(Self.entriesMax), "*",
                "id", .string(event.id.description), "seq", RedisArgument(event.seq),
                "event", .string(body),
            ]
        )
        do throws(RedisError) {
            _ = try await client.send(command)
            var result = AttemptResult.delivered
            result.digest = SentMessage.digest(of: body, to: target.url.description)
            return result
        } catch {
            return .failed(Self.reason(error), .serverError)
        }
    }

    /// What an operator reads; says what to do about a key of another type.
    private static func reason(_ error: RedisError) -> String {
        switch StoreError(error) {
        case .full: "Redis is full"
        case .corrupt(let reason): "Redis refused: \(reason); is the key a stream?"
        case .unavailable(let reason): "Redis cannot be reached: \(reason)"
        case .unknownCursor, .outOfOrder, .keyMissing: "Redis refused"
        }
    }
}
