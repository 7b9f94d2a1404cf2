package import PollerDeliveries
import PollerIdentity
import PollerQueue
package import PollerWatches
package import RedisClient

/// Delivers events to other services through their own stream in our Redis: `redis+stream:NAME`.
///
/// *Shape*: `XADD <namespace>:stream:<NAME> MAXLEN ~ 10000 * id <event id> seq <seq> event <JSON>`.
///
/// *Order and atomicity*: in `seq` order for each source; at least once, so a reader drops an `id` it has seen (after a
/// lost reply the same event is sent again).
///
/// *Errors*: an unavailable or full Redis is retried. If the key is not a stream, an operator must move it away.
package struct RedisStreamChannel: DeliveryChannel {
    /// The number of entries a stream keeps: an hour at three events a second.
    ///
    /// These are about 15 MiB of ordinary events, and never more than 640 MiB. A reader further behind fills its gap by
    /// `seq` from the API.
    package static let entriesMax = 10_000

    package let schemes: Set<String> = ["redis+stream"]
    /// One command to a Redis that is required anyway.
    package let timeout = Duration.seconds(15)
    /// The retry schedule.
    ///
    /// If Redis does not respond, this notifier stops altogether. Only temporary rejections remain, so the ordinary
    /// schedule is sufficient.
    package let schedule = RetrySchedule.webhook

    private let client: RedisClient
    private let keys: Keys

    /// Creates a channel into the streams of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        keys = layout.watchKeys
    }

    /// Accepts every event; services filter events themselves.
    package func supports(_ event: Event) -> Bool { true }

    package func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        let body = target.body(of: event)
        let command = RedisCommand(
            "XADD",
            [
                // The name in the URL; its characters were checked when the URL was accepted.
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

    /// Returns the reason for operators; it states what to do about a key of another type.
    private static func reason(_ error: RedisError) -> String {
        switch StoreError(error) {
        case .full: "Redis is full"
        case .corrupt(let reason): "Redis refused: \(reason); is the key a stream?"
        case .unavailable(let reason, _): "Redis cannot be reached: \(reason)"
        case .unknownCursor, .outOfOrder, .keyMissing: "Redis refused"
        }
    }
}
