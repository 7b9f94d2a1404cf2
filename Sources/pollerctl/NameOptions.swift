import ArgumentParser
import PollerClient

/// Under which account a source is looked for, and what it is.
struct NameOptions: ParsableArguments {
    @Option(help: "The account at the upstream; default when absent.")
    var account: String?

    @Option(help: "source, payment_intent, setup_intent, charge, http; told by Stripe's prefixes.")
    var kind: String?

    /// The watch of a source.
    func name(_ source: String) -> WatchName {
        WatchName(source, account: account, kind: kind)
    }
}
