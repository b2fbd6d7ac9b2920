// Colours that colour-blind people can tell apart: Okabe and Ito (2008), with lighter blues and yellows where it is dark.

export interface Theme {
  dark: boolean;
  background: string;
  ink: string;
  faint: string;
  /** Colours of the principal axes 1, 2, 3 and of the faces across them. */
  axes: [string, string, string];
  momentum: string;
  rate: string;
  torque: string;
  separatrix: string;
  surface: string;
  plane: string;
  runs: string[];
}

const LIGHT: Theme = {
  dark: false,
  background: "#f7f8fa",
  ink: "#1d232b",
  faint: "#9aa5b1",
  axes: ["#0072b2", "#e69f00", "#009e73"],
  momentum: "#a0529a",
  rate: "#d55e00",
  torque: "#7a6a00",
  separatrix: "#1d232b",
  surface: "#ccd7e3",
  plane: "#bcc8d6",
  runs: ["#0072b2", "#d55e00", "#009e73", "#a0529a", "#e69f00", "#56b4e9"],
};

const DARK: Theme = {
  dark: true,
  background: "#12161c",
  ink: "#e8edf3",
  faint: "#5b6773",
  axes: ["#56b4e9", "#e69f00", "#1fbf92"],
  momentum: "#e29ccb",
  rate: "#ff7a1f",
  torque: "#f0e442",
  separatrix: "#f4f6f9",
  surface: "#42505f",
  plane: "#3f4c5b",
  runs: ["#56b4e9", "#ff7a1f", "#1fbf92", "#e29ccb", "#e69f00", "#f0e442"],
};

export const theme = (dark: boolean): Theme => (dark ? DARK : LIGHT);
