import ArgumentParser
import SecretFiles

extension Terminal {
    /// The secret in the variable `name`, or in the file that `name` with `_FILE` names; nil when
    /// neither is set.
    ///
    /// Says what is wrong with a file, and throws the exit status for it.
    static func secret(_ name: String, _ environment: [String: String]) throws -> String? {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let path = value(name + "_FILE") else { return value(name) }
        guard value(name) == nil else {
            printError("\(name) and \(name)_FILE are both set\nLeave one of them out.")
            throw ExitCode(64)
        }
        do throws(SecretFile.Unusable) {
            let file = try SecretFile(path: path)
            if let warning = file.warning { printError("warning: \(warning)") }
            return file.text
        } catch {
            printError("\(name)_FILE: \(error)")
            // EX_NOINPUT of sysexits.h.
            throw ExitCode(66)
        }
    }
}
