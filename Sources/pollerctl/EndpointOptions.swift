import ArgumentParser
import PollerClient

/// What an endpoint is to be: the options that adding and changing share.
struct EndpointOptions: ParsableArguments {
    @Option(help: "Event types such as source.chargeable or source.*; may be repeated.")
    var types: [String] = []

    @Option(name: .customLong("source"), help: "Only events of this source; may be repeated.")
    var sources: [String] = []

    @Option(help: "NAME=VALUE that the watch's metadata must hold; may be repeated.")
    var metadata: [NameValue] = []

    @Flag(inversion: .prefixedNo, help: "Only how watches end.")
    var finalOnly: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "After a failure only the newest of what waits, and the end."
    )
    var coalesce: Bool?

    @Option(help: "default, fast, none, or waits by comma such as 5s,1m,10m.")
    var retry: String?

    @Option(help: "For one attempt, 1s to 30s.")
    var timeout: Span?

    @Option(help: "Deliveries a second, 0 for no limit.")
    var rate: Double?

    @Option(help: "Deliveries that may follow each other at once.")
    var burst: Int?

    @Option(help: "Deliveries in flight at once.")
    var concurrency: Int?

    @Option(help: "NAME=VALUE to send as a header with every request; may be repeated.")
    var header: [NameValue] = []

    @Option(help: "full, or thin: the event without its object.")
    var payload: String?

    @Option(help: "Tell --fallback what is not accepted within this span.")
    var notifyBy: Span?

    @Option(help: "The id of the endpoint that --notify-by means.")
    var fallback: String?

    func validate() throws {
        guard (notifyBy == nil) == (fallback == nil) else {
            throw ValidationError("--notify-by and --fallback go together: give both or none")
        }
        if let rate {
            guard rate.isFinite, rate >= 0 else {
                throw ValidationError("--rate must be 0 or a positive number")
            }
        }
    }

    /// What was asked for; what no option names is left out.
    func wish(url: String? = nil, account: String? = nil) -> EndpointWish {
        var wish = EndpointWish(url: url, account: account)
        wish.types = types.isEmpty ? nil : types
        wish.sources = sources.isEmpty ? nil : sources
        wish.metadata = metadata.isEmpty ? nil : metadata.dictionary
        wish.finalOnly = finalOnly
        wish.coalesces = coalesce
        wish.retry = retry.map { $0.split(separator: ",").map(String.init) }
        wish.timeout = timeout?.duration
        wish.rate = rate
        wish.burst = burst
        wish.concurrency = concurrency
        wish.headers = header.isEmpty ? nil : header.dictionary
        wish.payload = payload
        if let notifyBy, let fallback {
            wish.notifyBy = EndpointWish.NotifyBy(within: notifyBy.duration, fallback: fallback)
        }
        return wish
    }
}
