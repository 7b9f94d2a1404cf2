/// A stripe-sandbox of our own on a free loopback port, for `pollerd all --embedded` and `bench`.
///
/// A program of its own: what stands in for Stripe is no part of the one that runs in production,
/// and its CPU is not ours when that is measured.
package struct EmbeddedSandbox: Sendable {
    /// Many times what it takes on a busy machine.
    private static let startTimeout = Duration.seconds(20)

    private let process: ChildProcess

    /// Starts it; ``port()`` waits until it listens.
    ///
    /// - Parameter otherwise: What else the operator may do when the program is missing.
    /// - Throws: ``ProgramError`` when stripe-sandbox is nowhere.
    package init(otherwise: String = "") throws(ProgramError) {
        process = try ChildProcess(
            try Programs.locate("stripe-sandbox", otherwise: otherwise),
            ["--bind", "127.0.0.1:0", "--until-stdin-ends"]
        )
    }

    /// The port of 127.0.0.1 where it listens, by its own word.
    ///
    /// - Throws: ``ProgramError`` when it has ended or does not say it in time.
    package func port() throws(ProgramError) -> Int {
        let output = process.output(until: "listening on", within: Self.startTimeout) ?? ""
        guard
            let port = output.split(separator: ":").last.flatMap({
                Int($0.prefix(while: \.isNumber), radix: 10)
            }
            )
        else {
            throw ProgramError(
                "stripe-sandbox did not start: `stripe-sandbox --bind 127.0.0.1:0` says why"
            )
        }
        return port
    }

    /// Whether it has ended without being told to.
    package var hasDied: Bool { process.hasDied }

    /// Ends it at once: it keeps nothing that it could lose.
    package func stop() { process.kill() }
}
