import Foundation
import ProgramOutput
import pollerctl
import pollerd
import stripe_sandbox

/// All programs in one file, selected by the name of the call.
///
/// They share most of their code, so an image with three links to one file is a third smaller.
let name = CommandLine.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent }
switch name {
case "pollerd": await PollerdCommand.main()
case "pollerctl": await Pollerctl.main()
case "stripe-sandbox": await StripeSandboxCommand.main()
default:
    let advice =
        "this file contains pollerd, pollerctl and stripe-sandbox: create links with these names "
        + "and call them"
    StandardStreams.writeError("\(name ?? "poller"): \(advice)\n")
    Foundation.exit(64)
}
