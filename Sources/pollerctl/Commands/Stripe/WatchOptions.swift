import ArgumentParser
import PollerClient
import StripeAPI

/// Whether the cluster watches what a command has made, and how.
struct WatchOptions: ParsableArguments {
    @Flag(help: "Let the cluster watch it.")
    var watch = false

    @Flag(help: "Watch it, and show events until it is closed.")
    var follow = false

    @Flag(help: "Watch it, and let the cluster charge it once when it becomes chargeable.")
    var chargeWhenChargeable = false

    @Flag(help: "Watch it, and never charge it, whatever its account charges otherwise.")
    var neverCharge = false

    @Option(help: "How often to look: interactive, standard or patient.")
    var policy: String?

    @Option(help: "How far to follow: left_pending, settled (the default) or final.")
    var until: String?

    @Option(
        help: "How long to wait for the payer, 1s to 90d; as long as its kind lives when absent."
    )
    var timeout: Span?

    @Option(help: "Where to tell: https://…, mailto:… or redis+stream:NAME; may be repeated.")
    var notify: [String] = []

    @Option(help: "The cluster's name of the account; default when absent.")
    var account: String?

    @OptionGroup var server: ServerOptions

    /// Whether anything is to be watched.
    var isWatched: Bool { watch || follow || chargeWhenChargeable || neverCharge }

    func validate() throws {
        guard !(chargeWhenChargeable && neverCharge) else {
            throw ValidationError("--charge-when-chargeable and --never-charge exclude each other")
        }
        guard isWatched || (policy == nil && until == nil && timeout == nil && notify.isEmpty)
        else {
            throw ValidationError(
                "--policy, --until, --timeout and --notify belong to --watch or --follow"
            )
        }
    }

    /// Hands an object to the cluster, and follows it if that is wanted.
    ///
    /// Its secret goes along: it opens the return page to the customer.
    func run(_ id: String, secret: StripeAPI.ClientSecret?) async throws {
        guard isWatched else { return }
        let name = WatchName(id, account: account)
        let request = WatchRequest(
            name,
            policy: policy,
            until: until,
            timeout: timeout?.duration,
            notify: notify,
            clientSecret: secret?.rawValue,
            charge: chargeWhenChargeable ? .whole : neverCharge ? .nothing : nil
        )
        try await server.perform { client in
            let result = try await client.enqueue([request])
            guard let line = result.results.first else { return }
            if !server.json {
                Terminal.printLine("watched: \(line.outcome), run \(line.run)")
            }
            guard follow else { return }
            try await Follow.untilClosed([name: line.run], client: client, json: server.json)
        }
    }
}
