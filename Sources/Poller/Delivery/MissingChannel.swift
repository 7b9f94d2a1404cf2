/// Stands in where no channel of this process serves a URL's scheme: mail without a relay.
///
/// Another notifier may have one, so it goes first; while none has, each attempt fails here, by the
/// schedule of webhooks, until the event is given up like any other: a dead letter that can be sent
/// again once the channel is configured. Like a mail, only the newest of what waits is worth it.
struct MissingChannel: DeliveryChannel {
    let scheme: String

    var schemes: Set<String> { [scheme] }
    var timeout: Duration { .zero }
    var schedule: RetrySchedule { .webhook }
    var isSuperseding: Bool { true }

    func wants(_ event: Event) -> Bool { true }

    func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        .failed("no channel for \(scheme): is POLLER_SMTP_URL set?", .local)
    }
}
