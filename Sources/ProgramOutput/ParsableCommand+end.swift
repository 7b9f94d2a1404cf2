package import ArgumentParser
import Foundation

extension ParsableCommand {
    /// Ends the program as ``exit(withError:)`` does, with a checked write of help, version or message.
    package static func end(with error: any Error) -> Never {
        let text = fullMessage(for: error)
        let status = exitCode(for: error)
        if !text.isEmpty {
            if status.isSuccess {
                StandardStreams.printLine(text)
            } else {
                StandardStreams.writeError(text + "\n")
            }
        }
        Foundation.exit(status.rawValue)
    }
}
