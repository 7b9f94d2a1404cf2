import Foundation
import ProgramOutput
import pollerctl
import pollerd
import stripe_sandbox

/// All programs in one file, which is whichever it is called: most of what they are made of is the same, so
/// an image that has them by three names of one file is a third smaller.
let name = CommandLine.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent }
switch name {
case "pollerd": await PollerdCommand.main()
case "pollerctl": await Pollerctl.main()
case "stripe-sandbox": await StripeSandboxCommand.main()
default:
    let advice =
        "this is pollerd, pollerctl and stripe-sandbox: call it by one of these names, as links "
        + "to it have them"
    StandardStreams.writeError("\(name ?? "poller"): \(advice)\n")
    Foundation.exit(64)
}
