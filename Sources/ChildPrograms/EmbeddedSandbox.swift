/// A stripe-sandbox for `pollerd all --embedded` and `bench`, on a free loopback port.
///
/// It is a separate program: the production program contains no stand-in for Stripe, and
/// measurements of it do not include the sandbox's CPU time.
package struct EmbeddedSandbox: Sendable {
    /// Many times the usual duration on a busy machine.
    private static let startTimeout = Duration.seconds(20)

    private let process: ChildProcess

    /// Starts it; ``port()`` waits until it listens.
    ///
    /// - Parameter otherwise: An alternative for the operator when the program is missing.
    /// - Throws: ``ProgramError`` when stripe-sandbox is not found.
    package init(otherwise: String = "") throws(ProgramError) {
        process = try ChildProcess(
            try Programs.locate("stripe-sandbox", otherwise: otherwise),
            ["--bind", "127.0.0.1:0", "--until-stdin-ends"]
        )
    }

    /// Returns the port of 127.0.0.1 that it reports.
    ///
    /// - Throws: ``ProgramError`` when it has ended or does not report its port in time.
    package func port() throws(ProgramError) -> Int {
        let output = process.output(until: "listening on", within: Self.startTimeout) ?? ""
        guard
            let port = output.split(separator: ":").last.flatMap({
                Int($0.prefix(while: \.isNumber), radix: 10)
            }
            )
        else {
            throw ProgramError(
                "stripe-sandbox did not start: see `stripe-sandbox --bind 127.0.0.1:0`"
            )
        }
        return port
    }

    /// Whether it has ended without being stopped.
    package var hasDied: Bool { process.hasDied }

    /// Kills it at once: it has no data to save.
    package func stop() { process.kill() }
}
