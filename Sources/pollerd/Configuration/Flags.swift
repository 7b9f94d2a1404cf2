import ArgumentParser
import Foundation

/// The options of ``Option/all`` on the command line: `--redis-url redis://…`, `--lease 12s`.
///
/// It is generic on purpose. Only the table of options knows them, so `--help`, environment, YAML file and
/// `check-config` cannot drift apart.
struct Flags: ParsableArguments {
    @ArgumentParser.Option(
        name: .customLong("config"),
        help: "YAML file with option keys, as check-config prints them (POLLER_CONFIG_FILE)."
    )
    var file: String?

    @ArgumentParser.Option(
        name: .customLong("set"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Set an option that check-config lists, for example --set lease=12s. Can be repeated.",
            valueName: "key=value"
        )
    )
    var settings: [String] = []

    /// Returns the values given on the command line, by option key.
    func values() throws -> [String: String] {
        var values: [String: String] = [:]
        for setting in settings {
            let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
            let key = (parts.first ?? "").replacing("-", with: "_")
            guard parts.count == 2, Option.all.contains(where: { $0.key == key }) else {
                throw ValidationError(
                    "--set \(setting): write key=value with a key that check-config lists"
                )
            }
            values[key] = parts[1]
        }
        return values
    }

    /// Returns the source of this process's configuration.
    func source() throws -> ConfigurationSource {
        let environment = ProcessInfo.processInfo.environment
        return ConfigurationSource(
            flags: try values(),
            environment: environment,
            file: file ?? environment["POLLER_CONFIG_FILE"]
        )
    }

    /// Returns the effective configuration of this process.
    func configuration() throws -> Configuration {
        try source().read().configuration.get()
    }

    /// Rewrites `--redis-url X` and `--redis-url=X` to `--set redis_url=X`, for every option.
    static func expand(_ arguments: [String]) -> [String] {
        var expanded: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let name = String(argument.prefix { $0 != "=" })
            guard let option = Option.all.first(where: { $0.flag == name }) else {
                expanded.append(argument)
                continue
            }
            if name.count < argument.count {
                expanded += ["--set", "\(option.key)=\(argument.dropFirst(name.count + 1))"]
            } else if let value = rest.popFirst() {
                expanded += ["--set", "\(option.key)=\(value)"]
            } else {
                expanded.append(argument)
            }
        }
        return expanded
    }
}
